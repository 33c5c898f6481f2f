// Writes the table of limits in docs/callbacks.md.

import { MAX_BATCH_BYTES, MAX_ITEMS } from "#core/api/order-call.ts";
import { MAIL_INTERVAL_MS } from "#core/domain/notice.ts";
import { MAX_POSTBACK_URL_LENGTH } from "#core/domain/postback-url.ts";
import { MAX_ATTEMPTS, RETRY_DELAYS_MS } from "#core/domain/retry.ts";
import { REPLACED_SECRET_GRACE_MS } from "#core/domain/secret-life.ts";
import { TIMESTAMP_TOLERANCE_SECONDS } from "#core/domain/signature.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import { readConfig } from "../src/config.ts";
import { DEADLINE_MS } from "../src/outside/https-transport.ts";
import { table } from "./markdown-text.ts";

export function limitsTable(): string {
	const defaults = readConfig({});
	if (!defaults.ok) throw new Error("the default settings are not valid");
	const { maxInFlightPerProgramme, retentionDays } = defaults.config;
	const spanMinutes = RETRY_DELAYS_MS.reduce((sum, delayMs) => sum + delayMs, 0) / MINUTE_MS;
	const tolerance = TIMESTAMP_TOLERANCE_SECONDS;
	const unless = "unless the network has set another number";
	return table(
		["Limit", "Value"],
		[
			[
				"Time for your answer",
				`${DEADLINE_MS / SECOND_MS} seconds, from the name look-up to the answer's headers`,
			],
			["Timestamp, away from your clock", `${tolerance} seconds either way`],
			[
				"Nonce memory",
				`until ${tolerance} seconds after the timestamp, at most ${(2 * tolerance) / 60} minutes`,
			],
			["Attempts", String(MAX_ATTEMPTS)],
			["From the first attempt to the last", `${Math.floor(spanMinutes / 60)} h ${spanMinutes % 60} min`],
			["Sales or decisions in one call", `${MAX_ITEMS}, in a body of ${MAX_BATCH_BYTES / 1_024} KiB`],
			["Requests under way to one shop", `${maxInFlightPerProgramme}, ${unless}`],
			["Size of a callback's body", "under 2 KB"],
			["Length of a Postback URL", `${MAX_POSTBACK_URL_LENGTH.toLocaleString("en")} characters`],
			["Mails about failures", `one in ${MAIL_INTERVAL_MS / MINUTE_MS} minutes for a programme`],
			[
				"A replaced secret, for your own requests",
				`good for ${REPLACED_SECRET_GRACE_MS / HOUR_MS} hours more`,
			],
			["Callbacks and attempts on the page", `${retentionDays} days, ${unless}`],
		],
	);
}
