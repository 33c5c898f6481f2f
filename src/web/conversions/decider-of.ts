// In whose name this reader decides.

import type { Decider } from "../../conversions/bulk-upload.ts";
import { sideOf } from "../../conversions/decision-rights.ts";
import type { WebContext } from "../env.ts";
import { viewerOf } from "../viewer.ts";

export function deciderOf(c: WebContext): Decider {
	const { personId, role } = viewerOf(c);
	return { personId, side: sideOf(role) };
}
