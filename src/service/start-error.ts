/** Thrown if a wrong setting is found only after the database was opened. */
export class StartError extends Error {}
