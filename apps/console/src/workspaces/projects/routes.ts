import { createLazyRoute } from '@tanstack/react-router';
import { Project } from './project';
import { Projects } from './projects';

export const projects = createLazyRoute('/organizations/$organization/projects')({ component: Projects });
export const project = createLazyRoute('/organizations/$organization/projects/$project')({ component: Project });
