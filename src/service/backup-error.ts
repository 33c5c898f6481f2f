// What a backup, a check or a restore stops at.

/** Something that a person has to put right; the message says how. */
export class BackupError extends Error {}
