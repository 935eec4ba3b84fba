import { createLazyRoute } from '@tanstack/react-router';
import { SshKeys } from './ssh-keys';

export const sshKeys = createLazyRoute('/organizations/$organization/ssh-keys')({ component: SshKeys });
