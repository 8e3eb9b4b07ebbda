/**
 * The one switch between cached steps and XState's own. `npm run test:xstate-production` replaces this
 * file by `test/machines/xstate/own-steps.ts`.
 */

export { compiled as withActors } from './chart.ts';
