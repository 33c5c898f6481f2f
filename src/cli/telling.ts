// What a long command says on standard error while it works: each stage on a terminal, and otherwise a line every few
// seconds, so that a short run in a timer says nothing.

import { sayBytes } from "../domain/bytes.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Telling } from "../service/long-work.ts";
import type { Screen } from "./command.ts";

export function tellOn(screen: Screen): Telling {
	const isTerminal = process.stderr.isTTY;
	return {
		everyMs: (isTerminal ? 1 : 5) * SECOND_MS,
		tell(stage, done, total) {
			if (total === null) {
				if (isTerminal) screen.error(`${stage} …`);
				return;
			}
			// A share has no unit.
			const far =
				total === 1 ? `${Math.floor(done * 100)} %` : `${sayBytes(done)} of about ${sayBytes(total)}`;
			screen.error(`${stage}: ${far}`);
		},
	};
}
