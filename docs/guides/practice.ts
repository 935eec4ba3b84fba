import { startPracticeSystems } from './practice-systems';

// `npm run practice`: runs stand-ins of the guides' outside systems until Ctrl-C, and prints the variables to set.
const lines = (variables: Record<string, string>) =>
  Object.entries(variables).map(([name, value]) => `  export ${name}='${value}'`);

void startPracticeSystems().then(({ shell, service, stop }) => {
  const output = [
    'Before npm start:',
    ...lines(service),
    '',
    'Before the commands of a guide:',
    ...lines(shell),
    '',
    'Ctrl-C ends the practice systems.',
  ];
  // Set before the last line is printed, because its reader may send a signal at once, and PostgreSQL would be left
  // running.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().then(() => process.exit()));
  process.stdout.write(`${output.join('\n')}\n`);
});
