// Decided history: conversions that another software has recorded and decided. They are stored as they ended, count in
// every total, and nobody is told of them: whoever decided them has done that.

import { BATCH_ROWS } from "../conversions/deps.ts";
import { judgeAndMove, type OrderRequest } from "../conversions/judge-and-move.ts";
import type { Step } from "../conversions/make-moves.ts";
import { plainWords, type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { utcSecond } from "../domain/time.ts";
import { type Conversion, findByOrders } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { eventTypeOf, HISTORY_COLUMNS, type History, readHistory } from "./history-row.ts";
import {
	bring,
	bringTo,
	cellOf,
	compareWith,
	differ,
	type ImportDeps,
	type ImportKind,
	type ImportRow,
	needsFixing,
	type RowVerdict,
} from "./import-kind.ts";
import { findNamedProgrammes } from "./named-programmes.ts";

export const CONVERSIONS_IMPORT: ImportKind = {
	name: "conversions",
	noun: ["conversion", "conversions"],
	columns: HISTORY_COLUMNS,
	example: `programme;order_id;event_type;status;sold_at;decided_at;amount;commission;fee;reason
Garden Shop;A-1001;SALE;approved;01.02.2026 10:15;2026-03-03;129,90;9,74;2,60;
Garden Shop;A-1002;;rejected;2026-02-02;2026-02-10;50,00;;;Out of stock
Book Club;B-7;LEAD;reversed;2026-01-05T09:00:00+01:00;;20;2;0,25;RETURN`,
	advice: "Imported conversions cannot be removed. No callback is sent for them.",
	batchRows: BATCH_ROWS,
	makesPeople: false,
	keyOf: (cells) => [cellOf(cells, "programme"), eventTypeOf(cells), cellOf(cells, "order_id")].join("\n"),
	judge: judgeHistory,
	apply: applyHistory,
};

interface Meant {
	programme: Programme;
	history: History;
}

async function judgeHistory(db: Db, rows: readonly ImportRow[], nowMs: number): Promise<RowVerdict[]> {
	const meant = await readRows(db, rows, nowMs);
	const orders = meant.flatMap((read) =>
		read.ok ? [{ programme_id: read.value.programme.id, order_id: read.value.history.orderId }] : [],
	);
	const known = new Map((await findByOrders(db, orders)).map((found) => [nameOf(found), found]));
	return meant.map((read) => {
		if (!read.ok) return needsFixing(plainWords(read.fault));
		const { programme, history } = read.value;
		const { orderId: order_id, eventType: event_type } = history;
		const present = known.get(nameOf({ programme_id: programme.id, order_id, event_type }));
		return present === undefined ? bringHistory(read.value) : compare(present, history);
	});
}

async function applyHistory(trx: Db, deps: ImportDeps, rows: readonly ImportRow[]): Promise<RowVerdict[]> {
	const meant = await readRows(trx, rows, deps.clock.nowMs());
	const requests = meant.flatMap((read) => (read.ok ? [requestFor(deps, read.value)] : []));
	const { results, owed } = await judgeAndMove(trx, deps, requests);
	if (owed.programmeIds.length > 0) throw new Error("imported history owes events");
	const judged = results.values();
	return meant.map((read) => {
		if (!read.ok) return needsFixing(plainWords(read.fault));
		const result = judged.next().value;
		if (result === undefined) throw new Error("a line came back without its result");
		return result.ok ? result.value : needsFixing(plainWords(result.fault));
	});
}

async function readRows(db: Db, rows: readonly ImportRow[], nowMs: number): Promise<Result<Meant>[]> {
	const named = rows.map(({ cells }) => cellOf(cells, "programme"));
	const programmeOf = await findNamedProgrammes(db, named);
	return rows.map(({ cells }) => {
		const programme = programmeOf(cellOf(cells, "programme"));
		if (!programme.ok) return programme;
		const history = readHistory(cells, programme.value, nowMs);
		return history.ok ? succeed({ programme: programme.value, history: history.value }) : history;
	});
}

function requestFor(deps: ImportDeps, meant: Meant): OrderRequest<RowVerdict> {
	const { programme, history } = meant;
	return {
		programmeId: programme.id,
		orderId: history.orderId,
		eventType: history.eventType,
		present: undefined,
		judge: (present) =>
			present === null
				? { kind: "move", step: stepFor(deps, meant), done: () => bringHistory(meant) }
				: { kind: "answer", result: succeed(compare(present, history)) },
	};
}

function stepFor({ clock, random, personId }: ImportDeps, { programme, history }: Meant): Step {
	return {
		move: "import",
		known: null,
		personId,
		reason: history.reason,
		sale: {
			public_id: makeId("cnv", clock.nowMs(), random.bytes(ID_RANDOM_BYTES)),
			programme_id: programme.id,
			order_id: history.orderId,
			event_type: history.eventType,
			status: history.status,
			basket_value: history.basket,
			commission: history.commission,
			network_fee: history.fee,
			currency: programme.currency,
			reason: history.reason,
			test: 0,
			source: "import",
			occurred_at_ms: history.soldAtMs,
			imported_decision_at_ms: history.decidedAtMs,
		},
	};
}

function bringHistory({ programme, history }: Meant): RowVerdict {
	const { status, basket, commission, fee } = history;
	return bring(bringTo(programme, { status, currency: programme.currency, basket, commission, fee }));
}

function compare(known: Conversion, history: History): RowVerdict {
	const isImported = known.source === "import";
	// Imported before, and reversed here since: the file is right about what it knew.
	const isReversedSince =
		isImported && known.decided_by !== null && known.status === "REVERSED" && history.status === "APPROVED";
	const { imported_decision_at_ms: hereMs } = known;
	const { decidedAtMs } = history;
	const differences = [
		...differ("status", known.status.toLowerCase(), history.status.toLowerCase(), !isReversedSince),
		...differ("amount", known.basket_value, history.basket),
		...differ("commission", known.commission, history.commission, history.says.commission),
		...differ("fee", known.network_fee, history.fee, history.says.fee),
		...differ("reason", known.reason ?? "none", history.reason ?? "none", !isReversedSince),
		// The shop's clock and the old software's need not agree to the second.
		...differ("sold_at", utcSecond(known.occurred_at_ms), utcSecond(history.soldAtMs), isImported),
		...(hereMs === null || decidedAtMs === null
			? []
			: differ("decided_at", utcSecond(hereMs), utcSecond(decidedAtMs))),
	];
	const since = isReversedSince ? "It was imported before, and reversed here since." : null;
	return compareWith("This order", differences, since);
}

function nameOf({ programme_id, order_id, event_type }: OrderName): string {
	return `${programme_id} ${event_type} ${order_id}`;
}

type OrderName = Pick<Conversion, "programme_id" | "order_id" | "event_type">;
