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
				file: "store/migrations.ts",
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
				file: "conversions/confirm.ts",
				find: 'return succeed({ outcome: "CONFIRMED", conversion, owedProgrammeIds: [] });',
				put: 'const { oweEvents } = await import("./owe.ts");\n\tconst owedProgrammeIds = await oweEvents(trx, arguments[1], "conversion.recorded", [conversion]);\n\treturn succeed({ outcome: "CONFIRMED", conversion, owedProgrammeIds });',
			},
		],
		breaks: ["2 one event per move", "the body is the event as it happened"],
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
		breaks: ["the answer follows from the life of a conversion"],
	},
	{
		name: "a confirmed conversion whose window never ends",
		edits: [
			{
				file: "conversions/confirm.ts",
				find: "window_ends_at_ms: nowMs + programme.approval_days * DAY_MS,",
				put: "window_ends_at_ms: null,",
			},
		],
		breaks: ["1 what was answered is stored"],
	},
	{
		name: "a window of the wrong length",
		edits: [
			{
				file: "conversions/record.ts",
				find: 'arrival.status === "PARKED" ? programme.parked_days : programme.approval_days',
				put: "programme.parked_days",
			},
		],
		breaks: ["1 what was answered is stored"],
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
