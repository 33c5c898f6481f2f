// Defects of a conversion's life: its moves, its amounts, its windows, the events it owes.

import type { Defect } from "./defect.ts";

const CREDIT = "a credit is what the shop's server signed";

export const LIFE_DEFECTS: readonly Defect[] = [
	{
		name: "an outbox row outside the transaction of its status change",
		seenWith: 6,
		edits: [
			{
				file: "conversions/owe.ts",
				find: "const ids = await store.writes",
				put: 'if (owed.length > 0) {\n\t\tawait trx.executeQuery(CompiledQuery.raw("commit"));\n\t\tawait trx.executeQuery(CompiledQuery.raw("begin immediate"));\n\t}\n\tconst ids = await store.writes',
			},
			{
				file: "conversions/owe.ts",
				find: "import { composeEvent,",
				put: 'import { CompiledQuery } from "kysely";\nimport { composeEvent,',
			},
		],
		// When the second half fails, the call is tried again, and meets the order that it has recorded itself; or its caller
		// hears of a failure, and the conversion has amounts of which nobody was told.
		breaks: [
			"2 one event per move",
			"the answer follows from the life of a conversion",
			"the body is the event as it happened",
		],
	},
	{
		name: "a second event for one move",
		edits: [
			{
				file: "conversions/judge-and-move.ts",
				find: 'if (judged.kind === "answer") results.set(request, judged.result);',
				put: 'const isRepeated = judged.kind === "answer" && judged.result.ok && request.present === undefined;\n\t\t\t\tif (isRepeated && present?.status === "APPROVED") await oweEvents(trx, deps, [{ event: "conversion.approved", conversion: present }]);\n\t\t\t\tif (judged.kind === "answer") results.set(request, judged.result);',
			},
			{
				file: "conversions/judge-and-move.ts",
				find: 'import { makeMoves, type Step } from "./make-moves.ts";',
				put: 'import { makeMoves, type Step } from "./make-moves.ts";\nimport { oweEvents } from "./owe.ts";',
			},
			{
				file: "store/schema/release-1-0.ts",
				find: "create unique index events_once_per_conversion",
				put: "create index events_once_per_conversion",
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
	},
	{
		name: "a batch whose commit was not answered, tried again",
		seenWith: 4,
		edits: [{ file: "api/intake.ts", find: "if (isUncertain) return false;", put: "" }],
		breaks: ["the answer follows from the life of a conversion"],
	},
	{
		name: "a call of a batch that gets its neighbour's answer",
		edits: [
			{
				file: "store/queries/batches.ts",
				find: "(index, value) => taken[index]?.done.resolve(value),",
				put: "(index, value) => taken[taken.length - 1 - index]?.done.resolve(value),",
			},
		],
		breaks: ["the answer follows from the life of a conversion"],
	},
	{
		name: "an event for a confirmed pixel conversion",
		edits: [
			{
				file: "conversions/make-moves.ts",
				find: "const event = announcedBy(step.move);",
				put: 'const isConfirmed = step.move === "confirm" && step.known?.status === "PARKED";\n\tconst event = isConfirmed ? "conversion.recorded" : announcedBy(step.move);',
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
	},
	{
		name: "a second event for a pixel conversion that was confirmed without parking",
		seenWith: 4,
		edits: [
			{
				file: "conversions/make-moves.ts",
				find: "const event = announcedBy(step.move);",
				put: 'const isConfirmed = step.move === "confirm" && step.known?.status === "RECORDED";\n\tconst event = isConfirmed ? "conversion.recorded" : announcedBy(step.move);',
			},
			{
				file: "store/schema/release-1-0.ts",
				find: "create unique index events_once_per_conversion",
				put: "create index events_once_per_conversion",
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
	},
	{
		name: "an expired order that stays blocked for the shop's server",
		seenWith: 11,
		edits: [
			{
				file: "domain/conversion.ts",
				find: 'return MOVES.record.from.includes(known.status) ? "record" : "confirm";',
				put: 'return known.status === "EXPIRED" ? null : MOVES.record.from.includes(known.status) ? "record" : "confirm";',
			},
		],
		breaks: ["the answer follows from the life of a conversion"],
	},
	{
		name: "a pixel's rejected order that stays blocked for the shop's server",
		seenWith: 4,
		edits: [
			{
				file: "domain/conversion.ts",
				find: 'from: ["EXPIRED", "REJECTED", "REVERSED"]',
				put: 'from: ["EXPIRED"]',
			},
		],
		breaks: ["the answer follows from the life of a conversion"],
	},
	{
		name: "a window that approves what only a pixel has reported",
		seenWith: 4,
		edits: [
			{
				file: "conversions/record.ts",
				find: 'move === "park" || report.source !== "pixel"',
				put: "true",
			},
		],
		// Or it is never approved, and looked at for ever.
		breaks: ["1 what was answered is stored", "everything due ends"],
	},
	{
		name: "a pixel's amount that survives the confirmation",
		edits: [
			{
				file: "conversions/record.ts",
				find: "pixel_basket_value: known.basket_value",
				put: "pixel_basket_value: known.basket_value, basket_value: known.basket_value",
			},
		],
		breaks: ["1 what was answered is stored", "the body is the event as it happened"],
	},
	{
		name: "a pixel's time that survives the confirmation",
		edits: [
			{
				file: "conversions/record.ts",
				find: "pixel_basket_value: known.basket_value",
				put: "pixel_basket_value: known.basket_value, occurred_at_ms: report.occurredAtMs ?? known.occurred_at_ms",
			},
		],
		breaks: ["1 what was answered is stored", "the body is the event as it happened"],
	},
	{
		name: "a commission rounded down",
		seenWith: 2,
		edits: [
			{
				file: "domain/money.ts",
				find: "(scaled + RATE_UNITS_PER_WHOLE / 2n) / RATE_UNITS_PER_WHOLE",
				put: "scaled / RATE_UNITS_PER_WHOLE",
			},
		],
		breaks: ["the body is the event as it happened"],
	},
	{
		name: "a status change that forgets who may make it",
		seenWith: 4,
		edits: [
			{
				file: "domain/conversion.ts",
				find: 'reject: { from: ["RECORDED"], ',
				put: 'reject: { from: ["RECORDED", "APPROVED"], ',
			},
		],
		// By a seed in which the approval before it was not answered, its event is what is one too many.
		breaks: [
			"the answer follows from the life of a conversion",
			"the body is the event as it happened",
			"2 one event per move",
		],
	},
	{
		name: "a confirmed conversion whose window never ends",
		edits: [
			{
				file: "conversions/record.ts",
				find: "confirmed_at_ms: nowMs",
				put: "confirmed_at_ms: nowMs, window_ends_at_ms: null",
			},
		],
		breaks: ["1 what was answered is stored"],
	},
	{
		name: "a window of the wrong length",
		edits: [
			{
				file: "conversions/record.ts",
				find: 'move === "park" ? programme.parked_days : programme.approval_days',
				put: "programme.parked_days",
			},
		],
		breaks: ["1 what was answered is stored", "the body is the event as it happened"],
	},
	{
		name: "a decision that the history does not tell",
		edits: [
			{
				file: "conversions/make-moves.ts",
				find: "to_status: conversion.status,",
				put: 'to_status: "RECORDED",',
			},
		],
		breaks: ["1 what was answered is stored"],
	},
	{
		name: "a pixel that credits",
		edits: [
			{
				file: "conversions/record.ts",
				find: 'return programme.credits_partners === 1 && source !== "pixel";',
				put: "return programme.credits_partners === 1 || source === undefined;",
			},
		],
		breaks: [CREDIT, "the body is the event as it happened"],
	},
	{
		name: "a credit that changes on an identical repeat",
		seenWith: 11,
		edits: [
			{
				file: "conversions/record.ts",
				find: "present.occurred_at_ms, partnerships",
				put: "present.occurred_at_ms + DAY_MS, partnerships",
			},
		],
		breaks: [CREDIT, "the body is the event as it happened"],
	},
	{
		name: "a commission where nobody is credited",
		edits: [
			{
				file: "domain/credit.ts",
				find: 'return { commission_rate: "0.0000", fee_rate: "0.0000" };',
				put: "return { commission_rate, fee_rate };",
			},
		],
		breaks: [CREDIT, "the body is the event as it happened"],
	},
];
