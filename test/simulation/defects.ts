// Defects to be planted into the sources, one at a time, to prove that the auditors can see: each is an edit of a
// file as it is loaded, and names the promise that it breaks. An edit that finds nothing to change is an error, so
// that none silently stops being planted.

import { ATTEMPT_DEFECTS } from "./defects/attempts.ts";
import type { Defect } from "./defects/defect.ts";
import { LIFE_DEFECTS } from "./defects/lives.ts";
import { SLOT_DEFECTS } from "./defects/slots.ts";
import { TELLING_DEFECTS } from "./defects/telling.ts";

export const DEFECTS: readonly Defect[] = [
	...ATTEMPT_DEFECTS,
	...SLOT_DEFECTS,
	...LIFE_DEFECTS,
	...TELLING_DEFECTS,
];
