// Imports the decided history: conversions that other software recorded and decided. They are stored with
// their final status and count in all totals. They cause no callbacks, because the other software has already
// informed the shop.

import { changeOrders } from "#core/conversions/change-orders.ts";
import { BATCH_ROWS } from "#core/conversions/deps.ts";
import type { Step } from "#core/conversions/moves.ts";
import type { OrderRequest } from "#core/conversions/order-request.ts";
import {
	DECIDED_STATUSES,
	type DecidedStatus,
	type EventType,
	parseEventType,
	parseReason,
	REASONS,
	type Reason,
} from "#core/domain/conversion.ts";
import { type Checked, checkAll, plainWords, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { addAmounts, zeroIn } from "#core/domain/money.ts";
import { parseOrderId } from "#core/domain/order-id.ts";
import { importedAmount, ratesFor, writeAppliedRate } from "#core/domain/rate.ts";
import { DAY_MS, utcSecond } from "#core/domain/time.ts";
import { findNamedProgrammes } from "#core/programmes/named-programmes.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { findByOrders } from "#core/store/queries/conversions.ts";
import { type Programme, ratesOf } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import {
	AMOUNT_COLUMN,
	CURRENCY_COLUMN,
	comparedByOrder,
	EVENT_TYPE_COLUMN,
	eventTypeOf,
	FEE_COLUMN,
	nameOfOrder,
	ORDER_COLUMN,
	PROGRAMME_COLUMN,
	ratedTypeOf,
	readAmounts,
	readPastTime,
	type SaleAmounts,
	SOLD_AT_COLUMN,
} from "./imported-sale.ts";
import {
	type ApplyDeps,
	type Cells,
	cellOf,
	compareWith,
	differ,
	IMPORT_WORDS,
	type ImportKind,
	type JobColumn,
	type JobRow,
	type JobScope,
	MAX_IMPORTED_ROWS,
	needsFixing,
	type ReadLine,
	type RowVerdict,
	reasonWord,
	refuseLine,
	willChange,
} from "./kind.ts";

const HISTORY_COLUMNS: readonly JobColumn[] = [
	PROGRAMME_COLUMN,
	ORDER_COLUMN,
	EVENT_TYPE_COLUMN,
	{
		name: "status",
		means: "approved, rejected or reversed. Open conversions belong in a file of their own.",
	},
	SOLD_AT_COLUMN,
	{ name: "decided_at", means: "When it was decided, written like sold_at.", isOptional: true },
	AMOUNT_COLUMN,
	CURRENCY_COLUMN,
	{
		name: "commission",
		means: "An amount, not a percentage. Left out, it follows from the programme's rate.",
		isOptional: true,
	},
	FEE_COLUMN,
	{
		name: "reason",
		means: `Where it is rejected or reversed: ${REASONS.join(", ")}, or in words such as Out of stock. Write OTHER where the old software kept none.`,
		isOptional: true,
	},
];

export const CONVERSIONS_IMPORT: ImportKind = {
	name: "conversions",
	noun: ["conversion", "conversions"],
	hint: "One line per conversion that was approved, rejected or reversed. It counts in every total, sends no callback, and is credited to nobody, because the old software paid for it.",
	importSummary: "Imports decided conversions from other software. No callback is sent for them.",
	columns: HISTORY_COLUMNS,
	example: `programme;order_id;event_type;status;sold_at;decided_at;amount;commission;fee;reason
Garden Shop;A-1001;SALE;approved;01.02.2026 10:15;2026-03-03;129,90;9,74;2,60;
Garden Shop;A-1002;;rejected;2026-02-02;2026-02-10;50,00;;;Out of stock
Book Club;B-7;LEAD;reversed;2026-01-05T09:00:00+01:00;;20;2;0,25;RETURN`,
	advice: "Imported conversions cannot be removed. No callback is sent for them.",
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: BATCH_ROWS,
	makesPeople: false,
	...comparedByOrder(HISTORY_COLUMNS),
	judge: judgeHistory,
	apply: applyHistory,
};

interface Meant {
	programme: Programme;
	history: History;
}

async function judgeHistory(
	db: Db,
	_: JobScope,
	rows: readonly JobRow[],
	nowMs: number,
): Promise<RowVerdict[]> {
	const meant = await readRows(db, rows, nowMs);
	const orders = meant.flatMap((read) =>
		read.ok ? [{ programme_id: read.value.programme.id, order_id: read.value.history.orderId }] : [],
	);
	const existing = new Map((await findByOrders(db, orders)).map((found) => [nameOfOrder(found), found]));
	return meant.map((read) => {
		if (!read.ok) return refuseLine(read);
		const { programme, history } = read.value;
		const { orderId: order_id, eventType: event_type } = history;
		const present = existing.get(nameOfOrder({ programme_id: programme.id, order_id, event_type }));
		return present === undefined ? verdictOnNew(read.value) : compare(present, history);
	});
}

async function applyHistory(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	const meant = await readRows(trx, rows, deps.clock.nowMs());
	const requests = meant.flatMap((read) => (read.ok ? [requestFor(deps, read.value)] : []));
	const { results, owed } = await changeOrders(trx, deps, requests);
	if (owed.receiverIds.length > 0) throw new Error("imported history owes events");
	const judged = results.values();
	return meant.map((read) => {
		if (!read.ok) return refuseLine(read);
		const result = judged.next().value;
		if (result === undefined) throw new Error("a line came back without its result");
		return result.ok ? result.value : needsFixing(plainWords(result.fault));
	});
}

async function readRows(db: Db, rows: readonly JobRow[], nowMs: number): Promise<ReadLine<Meant>[]> {
	const named = rows.map(({ cells }) => cellOf(cells, "programme"));
	const programmeOf = await findNamedProgrammes(db, named);
	return rows.map(({ cells }) => {
		const programme = programmeOf(cellOf(cells, "programme"));
		if (!programme.ok) return programme;
		const history = readHistory(cells, programme.value, nowMs);
		return history.ok ? succeed({ programme: programme.value, history: history.value }) : history;
	});
}

function requestFor({ clock, random, personId }: ApplyDeps, meant: Meant): OrderRequest<RowVerdict> {
	const { programme, history } = meant;
	const { orderId, eventType, status, reason } = history;
	const stepFor = (): Step => ({
		move: "import",
		personId,
		reason,
		sale: {
			public_id: makeId("cnv", clock.nowMs(), random.bytes(ID_RANDOM_BYTES)),
			programme_id: programme.id,
			order_id: orderId,
			event_type: eventType,
			status,
			basket_value: history.basket,
			commission: history.commission,
			network_fee: history.fee,
			fee_rate: writeAppliedRate(importedAmount(history.fee, history.basket)),
			currency: programme.currency,
			reason,
			test: 0,
			source: "import",
			occurred_at_ms: history.soldAtMs,
			decided_at_ms: history.decidedAtMs,
		},
	});
	return {
		programmeId: programme.id,
		orderId,
		eventType,
		mayChange: () => false,
		judge: (present) =>
			present === null
				? { kind: "move", step: stepFor(), done: () => verdictOnNew(meant) }
				: { kind: "answer", result: succeed(compare(present, history)) },
	};
}

function verdictOnNew({ programme, history }: Meant): RowVerdict {
	const { status, basket, commission, fee } = history;
	return willChange({ status, currency: programme.currency, basket, commission, fee });
}

function compare(known: Conversion, history: History): RowVerdict {
	const isImported = known.source === "import";
	// If an imported conversion was reversed here later, a file that says "approved" is still correct for its
	// time.
	const isReversedSince =
		isImported && known.decided_by !== null && known.status === "REVERSED" && history.status === "APPROVED";
	const { decided_at_ms: hereMs, refunded_value: refunded } = known;
	const { decidedAtMs } = history;
	const value = addAmounts(known.basket_value, refunded ?? zeroIn(known.currency));
	const differences = [
		...differ("status", known.status.toLowerCase(), history.status.toLowerCase(), !isReversedSince),
		...differ("amount", value, history.basket),
		// A refund has changed commission and fee since the import.
		...differ(
			"commission",
			known.commission,
			history.commission,
			history.says.commission && refunded === null,
		),
		...differ("fee", known.network_fee, history.fee, history.says.fee && refunded === null),
		...differ("reason", known.reason ?? "none", history.reason ?? "none", !isReversedSince),
		// Times of sale are compared only for imported conversions, because the shop's clock and that of the old
		// software may differ.
		...differ("sold_at", utcSecond(known.occurred_at_ms), utcSecond(history.soldAtMs), isImported),
		...(hereMs === null || decidedAtMs === null
			? []
			: differ("decided_at", utcSecond(hereMs), utcSecond(decidedAtMs))),
	];
	const since = isReversedSince ? "It was imported before, and reversed here since." : null;
	return compareWith("This order", differences, since);
}

interface History extends SaleAmounts {
	orderId: string;
	eventType: EventType;
	status: DecidedStatus;
	soldAtMs: number;
	decidedAtMs: number | null;
	reason: Reason | null;
}

function readHistory(cells: Cells, programme: Programme, nowMs: number): Checked<History> {
	const status = readStatus(cellOf(cells, "status"));
	const rates = ratesFor(ratesOf(programme), null, ratedTypeOf(cells));
	const read = checkAll({
		orderId: parseOrderId(cellOf(cells, "order_id")),
		eventType: parseEventType(eventTypeOf(cells)),
		status,
		times: readTimes(cells, nowMs),
		money: readAmounts(cells, programme, rates),
		reason: status.ok ? readReason(cellOf(cells, "reason"), status.value) : succeed(null),
	});
	if (!read.ok) return read;
	const { times, money, ...others } = read.value;
	return succeed({ ...others, ...times, ...money });
}

function readStatus(text: string): Result<DecidedStatus> {
	const word = text.toUpperCase();
	// The words of decisions, such as "approve", are accepted as well as the statuses.
	const status = DECIDED_STATUSES.find((known) => [word, `${word}D`, `${word}ED`].includes(known));
	if (status !== undefined) return succeed(status);
	const detail =
		"The status must be approved, rejected or reversed. Import a conversion that is still open with a file of open conversions, which has no column status.";
	return refuse("invalid_field", detail, "status");
}

function readTimes(cells: Cells, nowMs: number): Result<Pick<History, "soldAtMs" | "decidedAtMs">> {
	const soldAt = readPastTime(cells, "sold_at", nowMs);
	if (!soldAt.ok) return soldAt;
	const soldAtMs = soldAt.value;
	if (cellOf(cells, "decided_at") === "") return succeed({ soldAtMs, decidedAtMs: null });
	const decidedAt = readPastTime(cells, "decided_at", nowMs);
	if (!decidedAt.ok) return decidedAt;
	// A date without a time means midnight. A sale that was decided on the day it was made may therefore seem
	// to be decided before it was made.
	if (decidedAt.value <= soldAtMs - DAY_MS) {
		return refuse("invalid_field", "decided_at is before sold_at. Correct one of the two.", "decided_at");
	}
	return succeed({ soldAtMs, decidedAtMs: decidedAt.value });
}

function readReason(text: string, status: DecidedStatus): Result<Reason | null> {
	if (status !== "APPROVED") {
		const reason = parseReason(reasonWord(text));
		if (reason.ok || text !== "") return reason;
		const detail = `A ${status.toLowerCase()} conversion needs a reason. Write OTHER where the old software kept none.`;
		return refuse("missing_reason", detail, "reason");
	}
	if (text === "") return succeed(null);
	return refuse("unknown_field", "An approved conversion has no reason. Leave the reason empty.", "reason");
}
