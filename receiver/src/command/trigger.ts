// `ringback trigger conversion.approved` creates a test conversion and moves it to the status in which that
// event happens.

import { randomBytes } from "node:crypto";
import type { Decided } from "../client/answer.ts";
import { createClient } from "../client/create-client.ts";
import type { CallFailure } from "../client/failure.ts";
import { knownReasons } from "../words.ts";
import { showPlainly, writePlainJson } from "./plain-text.ts";
import { describeProblem } from "./service-words.ts";
import { readSettings, settingsNote, urlOption } from "./settings.ts";
import { exitCode, type Surroundings } from "./surroundings.ts";
import type { Given, Usage } from "./usage.ts";

const events = [
	"conversion.recorded",
	"conversion.approved",
	"conversion.rejected",
	"conversion.reversed",
] as const;
type TriggeredEvent = (typeof events)[number];

/** Default basket value of a test conversion. A whole number is valid in every currency. */
const defaultBasketValue = "100";
/** Default reason of a decision, which is the one in the contract's own example. */
const defaultReason = "RETURN";
const orderBytes = 4;

export const triggerUsage: Usage = {
	name: "trigger",
	summary:
		"Creates a test conversion and moves it to an event, so that you can see the callback. No real order is changed.",
	argument: { value: "EVENT", help: `one of ${events.join(", ")}` },
	options: {
		order: { type: "string", value: "ID", help: "its order ID; test- and a random word if not given" },
		"basket-value": {
			type: "string",
			value: "AMOUNT",
			help: `its value, such as 49.90; ${defaultBasketValue} if not given`,
		},
		"click-id": {
			type: "string",
			value: "ID",
			help: "a click ID of a partner's link; the credit that it gives is shown",
		},
		"coupon-code": {
			type: "string",
			value: "CODE",
			help: "a coupon code; if given several times, the first code of a partner counts",
			isRepeatable: true,
		},
		reason: {
			type: "string",
			value: "REASON",
			help: `why it is rejected or reversed; ${defaultReason} if not given`,
		},
		from: {
			type: "string",
			value: "recorded|approved",
			help: "what is reversed: a recorded conversion, or one approved before",
		},
		url: urlOption,
		json: { type: "boolean", help: "print JSON, one object per line, for scripts" },
	},
	notes: [
		"The event goes to the saved Postback URL, if there is one, and to everyone who runs `ringback listen`.",
		settingsNote,
	],
};

export async function trigger(
	given: Given,
	{ environment, screen, stopSignal }: Surroundings,
): Promise<number> {
	const event = events.find((known) => known === given.argument);
	const from = given.text("from");
	const givenReason = given.text("reason");
	const read = readSettings(environment, given.text("url"));
	const problems = [
		...(event === undefined
			? [`"${showPlainly(given.argument ?? "")}" is not an event. Choose one of ${events.join(", ")}.`]
			: []),
		...(event === undefined ? [] : findMisfits(event, from, givenReason)),
		...(read.ok ? [] : read.problems),
	];
	if (event === undefined || !read.ok || problems.length > 0) {
		for (const problem of problems) screen.error(problem);
		return exitCode.usage;
	}
	const client = createClient(read.settings);
	const call = { signal: stopSignal };
	const orderId = given.text("order") ?? `test-${randomBytes(orderBytes).toString("hex")}`;
	const asJson = given.flag("json");
	const fail = (failure: CallFailure): number => {
		const code = failure.code ?? failure.kind;
		const detail = describeProblem(read.settings.url, failure);
		if (asJson) screen.out(writePlainJson({ error: code, detail }));
		else screen.error(detail);
		return exitCode.failed;
	};

	const before = await client.conversions({ orderId }, call);
	if (!before.ok) return fail(before);
	if (before.conversions.some(({ test }) => !test)) return fail(refuseReal(orderId));
	const basketValue = given.text("basket-value") ?? defaultBasketValue;
	const couponCodes = given.texts("coupon-code");
	const credit = {
		clickId: given.text("click-id"),
		couponCodes: couponCodes.length === 0 ? undefined : couponCodes,
	};
	const recorded = await client.record({ orderId, basketValue, test: true, ...credit }, call);
	if (!recorded.ok) return fail(recorded);
	// A real sale with this order id may have been recorded since the lookup.
	if (!recorded.conversion.test) return fail(refuseReal(orderId));
	say("conversion.recorded", recorded);
	const reason = givenReason ?? defaultReason;
	for (const step of stepsTo(event, from === "approved")) {
		const moved = await move(step);
		if (!moved.ok) return fail(moved);
		say(step, moved);
	}
	return exitCode.ok;

	function move(step: Exclude<TriggeredEvent, "conversion.recorded">) {
		switch (step) {
			case "conversion.approved":
				return client.approve({ orderId }, call);
			case "conversion.rejected":
				return client.reject({ orderId, reason }, call);
			case "conversion.reversed":
				return client.reverse({ orderId, reason }, call);
		}
		step satisfies never;
	}

	function say(step: TriggeredEvent, { outcome, conversion: { id, status }, credit }: Decided<string>): void {
		// A step that repeats an earlier one changes nothing, so the service sends no event.
		const isRepeat = outcome === "DUPLICATE";
		if (asJson)
			screen.out(
				writePlainJson({ event: isRepeat ? null : step, outcome, orderId, conversionId: id, status, credit }),
			);
		else
			screen.out(
				`${(isRepeat ? "was there before" : step).padEnd(19)}  ${showPlainly([orderId, status, id, credit ?? []].flat().join("  "))}`,
			);
	}
}

/** Returns a sentence about options that would have no effect. It is called before anything is recorded. */
function findMisfits(event: TriggeredEvent, from: string | undefined, reason: string | undefined): string[] {
	const problems: string[] = [];
	if (from !== undefined && event !== "conversion.reversed") {
		problems.push(`--from is for conversion.reversed only: ${event} has one way to it.`);
	} else if (from !== undefined && from !== "recorded" && from !== "approved") {
		problems.push("--from must be recorded or approved.");
	}
	if (reason !== undefined && event !== "conversion.rejected" && event !== "conversion.reversed") {
		problems.push(`--reason is for conversion.rejected and conversion.reversed: ${event} has none.`);
	} else if (reason !== undefined && !knownReasons.some((known) => known === reason)) {
		problems.push(`--reason must be one of ${knownReasons.join(", ")}.`);
	}
	return problems;
}

function refuseReal(orderId: string): CallFailure {
	const detail = `Order ${orderId} is a real conversion, and only tests are triggered. Choose another --order.`;
	const refused = { code: "not_a_test", status: null, detail, attempts: 0 };
	return { ok: false, kind: "refused", retryable: false, ...refused };
}

/** Returns the steps that follow the recording of the sale. */
function stepsTo(
	event: TriggeredEvent,
	isApprovedBefore: boolean,
): Exclude<TriggeredEvent, "conversion.recorded">[] {
	if (event === "conversion.recorded") return [];
	return event === "conversion.reversed" && isApprovedBefore ? ["conversion.approved", event] : [event];
}
