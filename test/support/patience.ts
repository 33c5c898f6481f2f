// Maximum time that a test waits for something that should happen at once. The limit only distinguishes a hang from a
// slow machine. Such things take milliseconds on an idle machine, a second or two for a command, and many times that
// on a small busy machine.

export const PATIENCE_MS = 180_000;
