// Writes a month of sales, decisions and callbacks of a shop into the database. The product's own use cases
// create the rows with a clock in the past. Only the shop's answers are written directly. The result is the
// same every time.

import { type Decision, decideConversion } from "#core/conversions/decide.ts";
import type { ConversionsDeps } from "#core/conversions/deps.ts";
import { approveDue, expireParked } from "#core/conversions/end-windows.ts";
import { recordConversion } from "#core/conversions/record.ts";
import type { Report } from "#core/conversions/report.ts";
import { EVENT_TYPES, REASONS } from "#core/domain/conversion.ts";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Random } from "#core/ports.ts";
import { sendTestConversion, walkTestConversion } from "#core/programmes/test-conversion.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { CHANGES } from "../../src/modules.ts";
import { makeStillClock } from "../support/clock.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { expectValue } from "../support/shop-account.ts";
import { type History, settleDeliveries } from "./sample-answers.ts";

const DAYS = 30;
/** Number of sales that have just arrived. */
const JUST_NOW = 3;

interface Step {
	atMs: number;
	run(deps: PastDeps): Promise<unknown>;
}

type PastDeps = ConversionsDeps;

export async function writeHistory(history: History): Promise<void> {
	const { store, programme, endMs, seed } = history;
	const chance = createSeededRandom(seed);
	const hex = (count: number) => Buffer.from(chance.bytes(count)).toString("hex");
	const random: Random = { bytes: (count) => Uint8Array.from(chance.bytes(count)), hex };
	const steps = [...planSales(history, chance), ...planChores(endMs), ...planTest(programme, endMs)];
	for (const step of steps.toSorted((a, b) => a.atMs - b.atMs)) {
		const clock = makeStillClock(() => step.atMs);
		await step.run({ store, clock, random, changes: CHANGES });
	}
	await settleDeliveries(history, chance);
	await store.batch.write(store.db, { inboundCalls: refusedCalls(programme, endMs) });
}

function planSales({ programme, endMs, sales, orderIds = [] }: History, chance: SeededRandom): Step[] {
	return Array.from({ length: sales }, (_, index) => {
		const rest = Math.max(0, sales - index - JUST_NOW) / sales;
		const ageMs = rest * DAYS * DAY_MS * (0.9 + chance.fraction() / 10);
		const atMs = Math.round(endMs - ageMs - chance.between(20_000, 240_000));
		const report: Report = {
			source: chance.chance(0.16) && rest > 0 ? "pixel" : "postback",
			orderId: orderIds[sales - index - 1] ?? `NL-${104_200 + index * 7 + chance.between(0, 6)}`,
			eventType: chance.chance(0.9) ? "SALE" : chance.pick(EVENT_TYPES),
			basketValue: `${chance.between(12, 480)}.${chance.pick(["00", "50", "90", "95", "99"])}`,
			occurredAtMs: null,
			isTest: false,
		};
		let sold: Conversion | null = null;
		const sale: Step = {
			atMs,
			async run(deps) {
				const recorded = await deps.store.transact((trx) => recordConversion(trx, deps, programme, report));
				sold = expectValue(recorded).conversion;
				await noteCall(deps, programme, sold);
			},
		};
		const confirmation: Step = {
			atMs: atMs + Math.round(ageMs * 0.2),
			async run(deps) {
				const confirmed = { ...report, source: "postback" } as const;
				const result = await deps.store.transact((trx) => recordConversion(trx, deps, programme, confirmed));
				sold = expectValue(result).conversion;
				await noteCall(deps, programme, sold);
			},
		};
		const isConfirmed = report.source === "pixel" && ageMs > DAY_MS && chance.chance(0.7);
		const decisions = drawDecisions(chance, ageMs).map(
			(decision, order): Step => ({
				atMs: atMs + Math.round(ageMs * (order + 1) * 0.3),
				async run(deps) {
					const conversion: Conversion | null = sold;
					if (conversion === null || conversion.status === "PARKED") return;
					const decided = await deps.store.transact((trx) =>
						decideConversion(trx, deps, conversion, decision),
					);
					// The decision fails if the conversion's window ended before it.
					if (decided.ok) sold = decided.value.conversion;
				},
			}),
		);
		return [sale, ...(isConfirmed ? [confirmation] : []), ...decisions];
	}).flat();
}

function drawDecisions(chance: SeededRandom, ageMs: number): readonly Decision[] {
	const dice = chance.fraction();
	const reason = chance.pick(REASONS.slice(0, 6));
	if (ageMs < DAY_MS || dice > 0.52) return [];
	if (dice < 0.28) return [{ move: "approve", decidedBy: "shop" }];
	if (dice < 0.36) return [{ move: "reject", decidedBy: "shop", reason }];
	if (dice < 0.41) return [{ move: "reject", decidedBy: "review", reason: "FRAUD" }];
	return [
		{ move: "approve", decidedBy: "shop" },
		{ move: "reverse", decidedBy: "shop", reason: "RETURN" },
	];
}

/** Plans the chores that end review windows and the wait for a confirmation. */
function planChores(endMs: number): Step[] {
	return Array.from({ length: DAYS }, (_, day) => ({
		atMs: endMs - day * DAY_MS - 90 * MINUTE_MS,
		async run(deps: PastDeps) {
			await approveDue(deps, () => false);
			await expireParked(deps, () => false);
		},
	}));
}

function planTest(programme: Programme, endMs: number): Step[] {
	return [
		{
			atMs: endMs - 2 * MINUTE_MS,
			async run(deps) {
				const { conversion } = expectValue(await sendTestConversion(deps, programme, COMMAND_LINE));
				const decision = { move: "approve", decidedBy: "shop" } as const;
				expectValue(await walkTestConversion(deps, programme, conversion.public_id, decision, COMMAND_LINE));
			},
		},
	];
}

async function noteCall(
	{ store, clock }: PastDeps,
	programme: Programme,
	conversion: Conversion,
): Promise<void> {
	const isPixel = conversion.status === "PARKED";
	await store.batch.write(store.db, {
		inboundCalls: [
			{
				programme_id: programme.id,
				kind: isPixel ? "pixel" : "api",
				method: isPixel ? "GET" : "POST",
				target: isPixel
					? `/pixel/${programme.public_id}.gif?order=${conversion.order_id}`
					: "/v1/conversions",
				outcome: conversion.status,
				http_status: isPixel ? 200 : 201,
				order_id: conversion.order_id,
				conversion: conversion.public_id,
				at_ms: clock.nowMs(),
			},
		],
	});
}

function refusedCalls({ id }: Programme, endMs: number) {
	const call = { programme_id: id, kind: "api", method: "POST", target: "/v1/conversions" } as const;
	return [
		{
			...call,
			outcome: "bad_signature",
			http_status: 401,
			detail:
				"The signature does not match. Sign method, path with query, timestamp, nonce and the digest of the raw body.",
			at_ms: endMs - 50_000,
		},
		{
			...call,
			outcome: "amount_not_a_string",
			http_status: 422,
			detail: 'basketValue must be a string such as "119.90".',
			order_id: "NL-105902",
			at_ms: endMs - 30_000,
		},
		{
			...call,
			outcome: "stale_timestamp",
			http_status: 401,
			detail: "The timestamp is 412 seconds away from our clock; 300 are allowed. Set your server's clock.",
			at_ms: endMs - 20_000,
		},
	];
}
