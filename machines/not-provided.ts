/** Returns logic for an actor that the runtime must provide: it fails at once and names the actor. */
export function notProvided(actor: string, chart: string) {
  return (): never => {
    throw new Error(`actor "${actor}" was not provided to the ${chart} chart`);
  };
}
