// What each page below /problems says of its code: why it is answered, what to do, and what may be sent again. A code
// without words does not compile. Texts have the brand Service and an address that no service has: `fillIn` puts the
// instance's own there.

import type { ExplainedCode, ProblemWords } from "./explained-code.ts";
import { CALLER_WORDS } from "./problem-words-caller.ts";
import { CONTENT_WORDS } from "./problem-words-content.ts";
import { STATE_WORDS } from "./problem-words-state.ts";

const WORDS: Readonly<Record<ExplainedCode, ProblemWords>> = {
	...CALLER_WORDS,
	...CONTENT_WORDS,
	...STATE_WORDS,
};

export const EXPLAINED_CODES: readonly ExplainedCode[] = Object.keys(WORDS).filter(isExplained);

export function problemWords(code: ExplainedCode): ProblemWords {
	return WORDS[code];
}

export function isExplained(code: string): code is ExplainedCode {
	return Object.hasOwn(WORDS, code);
}
