// Defects of a conversion's life: its moves, its amounts, its windows, the events it owes.

import type { Defect } from "./defect.ts";

export const LIFE_DEFECTS: readonly Defect[] = [
	{
		name: "an outbox row outside the transaction of its status change",
		edits: [
			{
				file: "store/outbox.ts",
				find: "const events = await trx\n",
				put: 'await trx.executeQuery(CompiledQuery.raw("commit"));\n\tawait trx.executeQuery(CompiledQuery.raw("begin immediate"));\n\tconst events = await trx\n',
			},
			{
				file: "store/outbox.ts",
				find: 'import type { EventName } from "../domain/event-name.ts";',
				put: 'import { CompiledQuery } from "kysely";\nimport type { EventName } from "../domain/event-name.ts";',
			},
		],
		breaks: ["2 one event per move"],
	},
	{
		name: "a second event for one move",
		edits: [
			{
				file: "conversions/decide.ts",
				find: 'if (verdict.kind === "already") return',
				put: 'if (verdict.kind === "already" && decision.move === "approve") await oweEvents(trx, deps, "conversion.approved", [present]);\n\t\tif (verdict.kind === "already") return',
			},
			{
				file: "store/tables/deliveries.ts",
				find: "create unique index events_once_per_conversion",
				put: "create index events_once_per_conversion",
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
	},
	{
		name: "an event for a confirmed pixel conversion",
		edits: [
			{
				file: "conversions/record.ts",
				find: "verdict.announces === null ? [] : await oweEvents(trx, deps, verdict.announces, [conversion]);",
				put: 'verdict.announces === null && known?.status !== "PARKED" ? [] : await oweEvents(trx, deps, verdict.announces ?? "conversion.recorded", [conversion]);',
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
	},
	{
		name: "a second event for a pixel conversion that was confirmed without parking",
		edits: [
			{
				file: "conversions/record.ts",
				find: "verdict.announces === null ? [] : await oweEvents(trx, deps, verdict.announces, [conversion]);",
				put: 'verdict.announces === null && known?.status !== "RECORDED" ? [] : await oweEvents(trx, deps, verdict.announces ?? "conversion.recorded", [conversion]);',
			},
			{
				file: "store/tables/deliveries.ts",
				find: "create unique index events_once_per_conversion",
				put: "create index events_once_per_conversion",
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
	},
	{
		name: "an expired order that stays blocked for the shop's server",
		edits: [
			{
				file: "domain/conversion.ts",
				find: 'if (known.status === "EXPIRED") return "record";',
				put: 'if (known.status === "EXPIRED") return null;',
			},
		],
		breaks: ["the answer follows from the life of a conversion"],
	},
	{
		name: "a pixel's amount that survives the confirmation",
		edits: [
			{
				file: "conversions/confirm.ts",
				find: "pixel_basket_value: reported.basket_value,",
				put: "pixel_basket_value: reported.basket_value,\n\t\tbasket_value: reported.basket_value,",
			},
		],
		breaks: ["1 what was answered is stored", "the body is the event as it happened"],
	},
	{
		name: "a pixel's time that survives the confirmation",
		edits: [
			{
				file: "conversions/confirm.ts",
				find: "pixel_basket_value: reported.basket_value,",
				put: "pixel_basket_value: reported.basket_value,\n\t\toccurred_at_ms: report.occurredAtMs ?? reported.occurred_at_ms,",
			},
		],
		breaks: ["1 what was answered is stored", "the body is the event as it happened"],
	},
	{
		name: "a commission rounded down",
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
				file: "conversions/confirm.ts",
				find: "pixel_basket_value: reported.basket_value,",
				put: "pixel_basket_value: reported.basket_value,\n\t\twindow_ends_at_ms: null,",
			},
		],
		breaks: ["1 what was answered is stored"],
	},
	{
		name: "a window of the wrong length",
		edits: [
			{
				file: "conversions/report.ts",
				find: 'status === "PARKED" ? programme.parked_days : programme.approval_days',
				put: "programme.parked_days",
			},
		],
		breaks: ["1 what was answered is stored", "the body is the event as it happened"],
	},
	{
		name: "a decision without its place in the history",
		edits: [
			{
				file: "conversions/decide.ts",
				find: "move: decision.move,\n\t\t\t\t\tto_status: verdict.to,",
				put: 'move: decision.move,\n\t\t\t\t\tto_status: "RECORDED",',
			},
		],
		breaks: ["1 what was answered is stored"],
	},
];
