import { isRefusal } from '@keystead/refusal';

export interface BackgroundLog {
  warn(fields: object, message: string): void;
}

interface Task {
  readonly name: string;
  readonly everyMs: number;
  readonly byTime: boolean;
  run(): Promise<boolean | undefined>;
  timer: NodeJS.Timeout | undefined;
  running: Promise<void> | undefined;
  again: boolean;
}

/**
 * Periodic work of every node. A task never overlaps itself. Times are randomised, so that nodes do not all query the
 * database at the same time. Tasks pause while the service is sealed.
 */
export class Background {
  private readonly tasks = new Map<string, Task>();
  private readonly planned = new Map<string, NodeJS.Timeout>();
  private active = false;

  constructor(
    private readonly isResting: () => boolean,
    /** True while the node does not know the time, so that nothing may expire. */
    private readonly untimely: () => boolean,
    private readonly log?: BackgroundLog,
  ) {}

  /**
   * `run` returns true to run again immediately, because more is waiting. Set `byTime` if the task handles due items.
   * It then does not run while the time is unknown.
   */
  every(
    name: string,
    everyMs: number,
    run: () => Promise<boolean | undefined>,
    { byTime = false }: { byTime?: boolean } = {},
  ): void {
    const task: Task = { name, everyMs, byTime, run, timer: undefined, running: undefined, again: false };
    this.tasks.set(name, task);
    if (this.active) this.schedule(task, everyMs);
  }

  start(): void {
    this.active = true;
    for (const task of this.tasks.values()) this.schedule(task, task.everyMs);
  }

  /** Asks a task to run now, or again if it is running. */
  wake(name: string): void {
    const task = this.tasks.get(name);
    if (!task || !this.active) return;
    if (task.running) task.again = true;
    else this.schedule(task, 0);
  }

  /** Runs once after a delay. A run that is already planned under this name is replaced. `run` must not fail. */
  plan(name: string, afterMs: number, run: () => Promise<void>): void {
    clearTimeout(this.planned.get(name));
    if (!this.active) return;
    const timer = setTimeout(() => {
      this.planned.delete(name);
      if (!this.isResting() && !this.untimely()) void run();
    }, afterMs);
    this.planned.set(name, timer);
  }

  /** Starts no more tasks and waits for the running ones. */
  async stop(): Promise<void> {
    this.active = false;
    for (const timer of this.planned.values()) clearTimeout(timer);
    for (const task of this.tasks.values()) clearTimeout(task.timer);
    await Promise.all([...this.tasks.values()].map((task) => task.running));
  }

  private schedule(task: Task, afterMs: number): void {
    clearTimeout(task.timer);
    if (!this.active) return;
    const spread = afterMs * (0.75 + Math.random() / 2);
    task.timer = setTimeout(() => {
      task.running = this.once(task).finally(() => {
        task.running = undefined;
        const soon = task.again;
        task.again = false;
        this.schedule(task, soon ? 0 : task.everyMs);
      });
    }, spread);
  }

  private async once(task: Task): Promise<void> {
    if (this.isResting() || (task.byTime && this.untimely())) return;
    try {
      if (await task.run()) task.again = true;
    } catch (error) {
      // The heartbeat reports once that the database is unavailable.
      if (!isRefusal(error)) this.log?.warn({ err: error, task: task.name }, 'background work failed');
    }
  }
}
