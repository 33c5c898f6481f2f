/** A wrong setting that is found only when the database is open. */
export class StartError extends Error {}
