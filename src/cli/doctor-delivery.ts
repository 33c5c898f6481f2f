// Whether callbacks go out, or are held on purpose.

import type { Config } from "../config.ts";
import { findPauseWarnings } from "../domain/warning.ts";
import { readPause } from "../store/delivery-pause.ts";
import type { Store } from "../store/store.ts";
import { type Finding, ok, warning } from "./finding.ts";

export async function examineDelivery({ db }: Store, { delivery }: Config, nowMs: number): Promise<Finding> {
	const [paused] = findPauseWarnings(await readPause(db, nowMs));
	if (paused !== undefined) {
		const next = delivery === "on" ? " RINGBACK_DELIVERY is on here: the next start lets them go." : "";
		return warning("delivery", `${paused.title}. ${paused.text}${next}`);
	}
	if (delivery === "on") return ok("delivery", "callbacks are not paused");
	return warning("delivery", "RINGBACK_DELIVERY is paused: from the next start on no callback is sent");
}
