// How long a test waits for what should happen at once. It only tells what is stuck from what is slow: milliseconds on
// an idle machine, a second or two for a command, and many times that on a small one that does much else.

export const PATIENCE_MS = 180_000;
