// Imports open conversions, which other software recorded and nobody has decided yet. They become RECORDED
// without an event, because the other software has already told the shop. The partner counts as assigned by
// staff, so no later report of the shop changes it.

import { changeOrders } from "#core/conversions/change-orders.ts";
import { BATCH_ROWS } from "#core/conversions/deps.ts";
import type { Step } from "#core/conversions/moves.ts";
import type { OrderRequest } from "#core/conversions/order-request.ts";
import { type EventType, isByPixelAlone, parseEventType } from "#core/domain/conversion.ts";
import { checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { addAmounts, zeroIn } from "#core/domain/money.ts";
import { parseOrderId } from "#core/domain/order-id.ts";
import {
	feeFor,
	importedAmount,
	noRates,
	type Rates,
	ratesFor,
	writeAppliedRate,
	writeRates,
} from "#core/domain/rate.ts";
import { DAY_MS, utcSecond } from "#core/domain/time.ts";
import { MAX_DAYS } from "#core/programmes/programme-terms.ts";
import { type Conversion, findByOrders, knownOrderOf } from "#core/store/queries/conversions.ts";
import { ratesOf } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { NOBODY } from "#modules/partners/domain/credit.ts";
import { commissionsOf, findNamedCredits, type NamedCredit } from "#modules/partners/store/credits.ts";
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
	readTime,
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
	needsNoChange,
	type ReadLine,
	type RowVerdict,
	refuseLine,
	willChange,
} from "./kind.ts";
import { findNamedAgreements, type NamedAgreement, PARTNER_COLUMN } from "./named-partners.ts";

const OPEN_COLUMNS: readonly JobColumn[] = [
	PROGRAMME_COLUMN,
	ORDER_COLUMN,
	EVENT_TYPE_COLUMN,
	SOLD_AT_COLUMN,
	{
		name: "approve_at",
		means:
			"When it is approved automatically, written like sold_at. Left out, it follows from sold_at and the programme's approval window.",
		isOptional: true,
	},
	AMOUNT_COLUMN,
	CURRENCY_COLUMN,
	{
		...PARTNER_COLUMN,
		means: `${PARTNER_COLUMN.means} Left empty, nobody is credited with the sale.`,
		isOptional: true,
	},
	{
		name: "commission",
		means:
			"An amount, not a percentage. Left out, it follows from the rates of the partner and the programme.",
		isOptional: true,
	},
	FEE_COLUMN,
];

export const OPEN_CONVERSIONS_IMPORT: ImportKind = {
	name: "open-conversions",
	noun: ["open conversion", "open conversions"],
	hint: "One line per conversion that nobody has decided yet, with its partner. It is decided here, and only its decision sends a callback.",
	importSummary:
		"Imports conversions from other software that nobody has decided yet, with their partners. Only their later decisions send callbacks.",
	columns: OPEN_COLUMNS,
	example: `programme;order_id;event_type;sold_at;approve_at;amount;partner;commission;fee
Garden Shop;A-2001;SALE;02.02.2026 10:15;2026-03-04;129,90;Bergblog;10,39;2,60
Garden Shop;A-2002;;2026-02-03;;50,00;Deal Finder;;
Garden Shop;A-2003;;2026-02-03;;20,00;;;`,
	advice:
		"Imported conversions cannot be removed. No callback is sent for the import. When they are approved, rejected or reversed later, the shop gets a callback as usual.",
	resultWords: IMPORT_WORDS,
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: BATCH_ROWS,
	makesPeople: false,
	sayRemarks: (lines, isApplied) =>
		isApplied
			? `The approval window of ${lines} had ended already. Each is approved within about a minute.`
			: `The approval window of ${lines} has ended already. Each is approved within about a minute after the import, and a callback is sent for it.`,
	...comparedByOrder(OPEN_COLUMNS),
	judge: judgeOpen,
	apply: applyOpen,
};

interface MeantConversion extends NamedAgreement, SaleAmounts {
	orderId: string;
	eventType: EventType;
	soldAtMs: number;
	approveAtMs: number;
	/** True if the file has a column with the end of the approval window. */
	saysApproval: boolean;
	/** The rates from which the amounts follow, or null if the file has one of the amounts. */
	rates: Rates | null;
}

const REMARK = "The approval window has ended already, so it is approved right after the import.";

async function judgeOpen(db: Db, _: JobScope, rows: readonly JobRow[], nowMs: number): Promise<RowVerdict[]> {
	const meant = await readRows(db, rows, nowMs);
	const orders = meant.flatMap((read) =>
		read.ok ? [{ programme_id: read.value.programme.id, order_id: read.value.orderId }] : [],
	);
	const present = new Map((await findByOrders(db, orders)).map((one) => [nameOfOrder(one), one]));
	return giveVerdicts(
		db,
		meant.map((read) => (read.ok ? { ...read, present: present.get(nameOf(read.value)) ?? null } : read)),
		nowMs,
	);
}

async function applyOpen(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	const nowMs = deps.clock.nowMs();
	const meant = await readRows(trx, rows, nowMs);
	const requests = meant.flatMap((read) => (read.ok ? [requestFor(deps, read.value)] : []));
	const { results, owed } = await changeOrders(trx, deps, requests);
	if (owed.receiverIds.length > 0) throw new Error("imported conversions owe events");
	const judged = results.values();
	const lines = meant.map((read): MetLine => {
		if (!read.ok) return read;
		const result = judged.next().value;
		if (result?.ok !== true) throw new Error("a line came back without its result");
		return { ...read, present: result.value };
	});
	return giveVerdicts(trx, lines, nowMs);
}

/** A line with the stored conversion of its order, or with null if the order is new. */
type MetLine = ReadLine<MeantConversion> & ({ ok: false } | { ok: true; present: Conversion | null });

async function giveVerdicts(db: Db, lines: readonly MetLine[], nowMs: number): Promise<RowVerdict[]> {
	const ids = lines.flatMap((line) => (line.ok && line.present !== null ? line.present.id : []));
	const credits = await findNamedCredits(db, ids);
	return lines.map((line) => {
		if (!line.ok) return refuseLine(line);
		const { value, present } = line;
		return present === null ? verdictOnNew(value, nowMs) : compare(present, credits.get(present.id), value);
	});
}

function nameOf({ programme, orderId, eventType }: MeantConversion): string {
	return nameOfOrder({ programme_id: programme.id, order_id: orderId, event_type: eventType });
}

async function readRows(
	db: Db,
	rows: readonly JobRow[],
	nowMs: number,
): Promise<ReadLine<MeantConversion>[]> {
	const agreementOf = await findNamedAgreements(db, rows);
	return rows.map(({ cells }) => {
		const agreement = agreementOf(cells);
		return agreement.ok ? readConversion(cells, agreement.value, nowMs) : agreement;
	});
}

function readConversion(cells: Cells, agreement: NamedAgreement, nowMs: number): ReadLine<MeantConversion> {
	const { programme, partnership } = agreement;
	if (partnership !== null && programme.credits_partners === 0) {
		const detail = `“${programme.name}” does not credit partners yet. Turn that on under its Partners first, or leave the partner empty.`;
		return refuse("not_allowed", detail, "partner");
	}
	const rates = ratesOfAgreement(agreement, cells);
	const read = checkAll({
		orderId: parseOrderId(cellOf(cells, "order_id")),
		eventType: parseEventType(eventTypeOf(cells)),
		times: readTimes(cells, agreement, nowMs),
		money: readAmounts(cells, programme, rates),
	});
	if (!read.ok) return read;
	const { times, money, ...others } = read.value;
	const isByRates = !money.says.commission && !money.says.fee;
	return succeed({ ...agreement, ...others, ...times, ...money, rates: isByRates ? rates : null });
}

/** Returns the rates of a sale that is recorded now, as core/conversions/record.ts determines them. */
function ratesOfAgreement({ programme, partnership }: NamedAgreement, cells: Cells): Rates {
	if (programme.credits_partners === 1 && partnership === null) return noRates(zeroIn(programme.currency));
	const commissions = partnership === null ? null : commissionsOf(partnership, programme.currency);
	return ratesFor(ratesOf(programme), commissions, ratedTypeOf(cells));
}

type Times = Pick<MeantConversion, "soldAtMs" | "approveAtMs" | "saysApproval">;

function readTimes(cells: Cells, { programme }: NamedAgreement, nowMs: number): Result<Times> {
	const soldAt = readPastTime(cells, "sold_at", nowMs);
	if (!soldAt.ok) return soldAt;
	const soldAtMs = soldAt.value;
	if (cellOf(cells, "approve_at") === "") {
		const approveAtMs = soldAtMs + programme.approval_days * DAY_MS;
		return succeed({ soldAtMs, approveAtMs, saysApproval: false });
	}
	const approveAt = readTime(cells, "approve_at");
	if (!approveAt.ok) return approveAt;
	const approveAtMs = approveAt.value;
	// A date without a time means midnight, so a sale of the same day may seem to be later.
	if (approveAtMs <= soldAtMs - DAY_MS) {
		return refuse("invalid_field", "approve_at is before sold_at. Correct one of the two.", "approve_at");
	}
	if (approveAtMs > nowMs + MAX_DAYS * DAY_MS) {
		return refuse("invalid_field", "approve_at is more than ten years away. Correct it.", "approve_at");
	}
	return succeed({ soldAtMs, approveAtMs, saysApproval: true });
}

/**
 * Returns the request that records the sale of a line. It resolves to the conversion that the order had
 * before, or to null if the order was new.
 */
function requestFor(deps: ApplyDeps, meant: MeantConversion): OrderRequest<Conversion | null> {
	const { programme, orderId, eventType } = meant;
	return {
		programmeId: programme.id,
		orderId,
		eventType,
		partnershipId: meant.partnership?.id,
		mayChange: () => false,
		judge: (present) =>
			present === null
				? { kind: "move", step: stepFor(deps, meant), done: () => null }
				: { kind: "keep", done: (conversion) => conversion },
	};
}

function stepFor({ clock, random, personId }: ApplyDeps, meant: MeantConversion): Step {
	const { programme, partnership, rates } = meant;
	const assigned = { ...NOBODY, partnershipId: partnership?.id ?? null, word: "ASSIGNED" } as const;
	return {
		move: "import",
		personId,
		credit: programme.credits_partners === 1 ? assigned : undefined,
		sale: {
			public_id: makeId("cnv", clock.nowMs(), random.bytes(ID_RANDOM_BYTES)),
			programme_id: programme.id,
			order_id: meant.orderId,
			event_type: meant.eventType,
			status: "RECORDED",
			basket_value: meant.basket,
			commission: meant.commission,
			network_fee: meant.fee,
			currency: programme.currency,
			rates: rates === null ? null : writeRates(rates),
			fee_rate: writeAppliedRate(
				rates === null
					? importedAmount(meant.fee, meant.basket)
					: feeFor(ratesOf(programme), meant.eventType),
			),
			test: 0,
			source: "import",
			occurred_at_ms: meant.soldAtMs,
			window_ends_at_ms: meant.approveAtMs,
		},
	};
}

function verdictOnNew(meant: MeantConversion, nowMs: number): RowVerdict {
	const { programme, basket, commission, fee, approveAtMs } = meant;
	const money = { status: "RECORDED", currency: programme.currency, basket, commission, fee } as const;
	return willChange(money, approveAtMs <= nowMs ? REMARK : null);
}

function compare(known: Conversion, credit: NamedCredit | undefined, meant: MeantConversion): RowVerdict {
	if (isByPixelAlone(knownOrderOf(known))) {
		return needsFixing(
			"Only a pixel has reported this order here. Let the shop's server report it with POST /v1/conversions, which confirms it.",
		);
	}
	const isImported = known.source === "import";
	// After its import, a conversion may be decided, refunded or credited to another partner. The file is still correct
	// for its time.
	const isUnchanged = isImported && known.updated_at_ms === known.created_at_ms;
	const value = addAmounts(known.basket_value, known.refunded_value ?? zeroIn(known.currency));
	const partner = credit?.partnership?.partner_name ?? "nobody";
	const isOtherPartner = (credit?.partnership_id ?? null) !== (meant.partnership?.id ?? null);
	const windowEndMs = known.window_ends_at_ms ?? 0;
	const differences = [
		...differ("amount", value, meant.basket),
		...differ("commission", known.commission, meant.commission, isUnchanged && meant.says.commission),
		...differ("fee", known.network_fee, meant.fee, isUnchanged && meant.says.fee),
		...differ("sold_at", utcSecond(known.occurred_at_ms), utcSecond(meant.soldAtMs), isImported),
		...differ(
			"approve_at",
			utcSecond(windowEndMs),
			utcSecond(meant.approveAtMs),
			isUnchanged && meant.saysApproval,
		),
		...differ(
			"partner",
			partner,
			meant.partnership?.partner_name ?? "nobody",
			isOtherPartner && (isUnchanged || !isImported),
		),
	];
	if (differences.length > 0) return compareWith("This order", differences);
	if (isUnchanged) return needsNoChange();
	const status = known.status.toLowerCase();
	return needsNoChange(
		isImported
			? `It was imported before, and changed here since. It is ${status} now.`
			: `It came here in another way already, and is ${status}.`,
	);
}
