// Decides about many conversions of one programme, or refunds parts of them, from a file or for all conversions
// that match the filters of a list.

import { changeOrders } from "#core/conversions/change-orders.ts";
import {
	DECISION_MOVES,
	type DecidedRequest,
	type Decision,
	decisionOn,
	foresee,
	judgeDecision,
	judgeRight,
	parseMove,
	refuseUnknownOrder,
	type Side,
} from "#core/conversions/decide.ts";
import { BATCH_ROWS } from "#core/conversions/deps.ts";
import type { OrderRequest } from "#core/conversions/order-request.ts";
import { DECIDED_STATUSES, parseEventType, parseReason } from "#core/domain/conversion.ts";
import { checkAll, plainWords, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { addAmounts } from "#core/domain/money.ts";
import { parseOrderId, parseRefundId } from "#core/domain/order-id.ts";
import { showOrderId } from "#core/domain/visible-text.ts";
import { type Conversion, findByOrders, findManyByPublicId } from "#core/store/queries/conversions.ts";
import { findProgrammesById, type Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { parseTypedRefund } from "#modules/refunds/domain/refund.ts";
import { findRefunds } from "#modules/refunds/store/refunds.ts";
import {
	foreseeRefund,
	type RefundDecision,
	type RefundedRequest,
	refundOn,
	refundOutcome,
} from "#modules/refunds/use-cases/refund.ts";
import type { StoredRefund } from "#modules/refunds/use-cases/refund-changes.ts";
import {
	type ApplyDeps,
	type Cells,
	cellOf,
	type EarlierLines,
	type JobKind,
	type JobRow,
	type JobScope,
	needsFixing,
	needsNoChange,
	type RowVerdict,
	reasonWord,
	willChange,
} from "./kind.ts";

export const DECISIONS: JobKind = {
	name: "decisions",
	noun: ["conversion", "conversions"],
	hint: "Export, add a column named decision, upload.",
	columns: [
		{
			name: "conversionId",
			means:
				"The ID from an export. The line decides exactly this conversion, and an orderId or eventType on the same line must match.",
			aliases: "conversion",
			isOptional: true,
		},
		{
			name: "orderId",
			means:
				"The order, if there is no conversionId. It is compared character by character, and nothing is trimmed.",
			// Aliases are accepted in English, German, French, Spanish, Italian and Dutch.
			aliases: `order, order number, order no, Bestellnummer, Bestellung, Auftragsnummer, commande, numéro de commande,
				n° de commande, pedido, número de pedido, n.º de pedido, ordine, numero ordine, numero d'ordine, bestelling,
				bestelnummer, ordernummer`,
			isOptional: true,
			keepsSpace: true,
		},
		{ name: "eventType", means: "The event type of the order. By default it is SALE.", isOptional: true },
		{
			name: "decision",
			means: "approve, reject, reverse or refund. Lines without one are skipped.",
			aliases: "Entscheidung, décision, decisión, decisione, beslissing, besluit",
		},
		{
			name: "reason",
			means: "Needed to reject, reverse or refund, such as OUT_OF_STOCK or Out of stock.",
			aliases: "Grund, Begründung, raison, motif, motivo, razón, reden",
			isOptional: true,
		},
		{
			name: "amount",
			means:
				"Needed to refund: what was refunded, such as 30.00 or 30,00. If it is everything that is left, the conversion is reversed.",
			aliases: "Betrag, montant, importe, importo, bedrag",
			isOptional: true,
		},
		{
			name: "refundId",
			means:
				"Needed to refund: your own number of the refund, such as that of the credit note. The same number is refunded once.",
			aliases: "refund, refund number, credit note, Gutschrift, avoir, abono, nota di credito, creditnota",
			isOptional: true,
		},
	],
	// An export has these further columns. They are ignored, so that people can add a column with decisions to
	// an export and upload it.
	ignored: `status, basketValue, refundedValue, commission, networkFee, currency, decidedBy, source, test, occurredAt,
		recordedAt, approvesAt, decidedAt, pixelBasketValue, partner, partnerId, credit, s1, s2, s3`,
	checkHeader: (has) =>
		has("conversionId") || has("orderId")
			? []
			: ["there is neither a column conversionId nor a column orderId"],
	example: `orderId,eventType,decision,reason,amount,refundId
A-1001,SALE,approve,,,
A-1002,,reject,FRAUD,,
A-1003,LEAD,reverse,RETURN,,
A-1004,,refund,RETURN,30.00,R-1`,
	advice:
		"Rejections, reversals and refunds cannot be undone. An approved conversion can still be reversed. The shop gets a callback for each change of a status.",
	resultWords: { change: ["will_be_changed", "changed"], already: "already", refused: "refused" },
	// The largest networks decide about this many conversions in one file.
	maxRows: 40_000,
	batchRows: BATCH_ROWS,
	makesPeople: false,
	prepare: prepareDecisions,
	keyOf,
	// Lines whose amounts are "12,50" and "12.50" count as equal.
	saysOf: (cells) =>
		["decision", "reason", "amount"].map((name) => cellOf(cells, name).replace(",", ".")).join(" "),
	// A file may contain several refunds and a decision for one conversion. Each line is judged on the state
	// that the lines before it leave.
	thingOf: (cells) => cellOf(cells, "conversionId") || null,
	judge: judgeDecisions,
	apply: applyDecisions,
};

/** Form of the conversion ids that core/domain/id.ts creates. */
const CONVERSION_ID = /^cnv_[0-9A-Z]{26}$/;

/** Word in the decision column of a line that refunds a part of a conversion. */
const REFUND = "refund";

/**
 * Statuses that people write in place of the decision that leads to them, such as "approved" for "approve".
 */
const DECISION_WORDS: ReadonlyMap<string, string> = new Map([
	["approved", "approve"],
	["rejected", "reject"],
	["reversed", "reverse"],
	["refunded", REFUND],
]);

/** Returns a key for the thing that a line is about. A conversion may have several refunds, each with its own id. */
function keyOf(cells: Cells): string | null {
	const conversionId = cellOf(cells, "conversionId");
	if (conversionId === "") return null;
	return cellOf(cells, "decision") === REFUND ? `${conversionId} ${cellOf(cells, "refundId")}` : conversionId;
}

/** Words in the result file that only decisions use. The other words are in the job kind. */
const MALFORMED = "malformed";
const UNKNOWN = "unknown_order";

/**
 * Finds the conversion of each line once, when the line is stored. Lines that name a conversion by its id and
 * lines that name it by its order id can then be compared, and the job decides exactly the conversions that
 * the preview showed.
 */
async function prepareDecisions(db: Db, scope: JobScope, rows: readonly JobRow[]): Promise<JobRow[]> {
	const asking = rows.flatMap(({ line, cells }) => {
		const decision = cellOf(cells, "decision").toLowerCase();
		if (decision === "") return [];
		const spelt = {
			...cells,
			eventType: cellOf(cells, "eventType").toUpperCase(),
			decision: DECISION_WORDS.get(decision) ?? decision,
			reason: reasonWord(cellOf(cells, "reason")),
		};
		return [{ line, cells: spelt }];
	});
	const byOrder = await findOrders(db, scope, asking);
	return asking.map(({ line, cells }) => {
		const found = namesakesOf(byOrder, cells).find(({ event_type }) => event_type === eventTypeOf(cells));
		return { line, cells: found === undefined ? cells : { ...cells, conversionId: found.public_id } };
	});
}

function eventTypeOf(cells: Cells): string {
	return cellOf(cells, "eventType") || "SALE";
}

type ByOrder = ReadonlyMap<string, readonly Conversion[]>;

/** Finds the conversions of lines that have an order id but no conversion id. */
async function findOrders(db: Db, scope: JobScope, rows: readonly JobRow[]): Promise<ByOrder> {
	const orders = rows.flatMap(({ cells }) => {
		const orderId = cellOf(cells, "orderId");
		const isNamed = cellOf(cells, "conversionId") === "" && parseOrderId(orderId).ok;
		return isNamed ? [{ programme_id: decidingOf(scope).programmeId, order_id: orderId }] : [];
	});
	return Map.groupBy(await findByOrders(db, orders), ({ order_id }) => order_id);
}

function namesakesOf(byOrder: ByOrder, cells: Cells): readonly Conversion[] {
	return cellOf(cells, "conversionId") === "" ? (byOrder.get(cellOf(cells, "orderId")) ?? []) : [];
}

function decidingOf({ deciding }: JobScope): NonNullable<JobScope["deciding"]> {
	if (deciding === null) throw new Error("decisions without a programme");
	return deciding;
}

async function judgeDecisions(
	db: Db,
	scope: JobScope,
	rows: readonly JobRow[],
	nowMs: number,
	earlier: EarlierLines,
): Promise<RowVerdict[]> {
	const byId = await findOwn(db, scope, rows);
	const byOrder = await findOrders(db, scope, rows);
	const programme = await readProgramme(db, scope);
	const { side } = decidingOf(scope);
	const sales = await foreseeSales(db, rows, byId, earlier, (sale, cells) => {
		const decision = parseDecision(cells, side, programme);
		return decision.ok ? decideNext(sale, decision.value, nowMs) : null;
	});
	return rows.map((row): RowVerdict => {
		const { cells } = row;
		const target = checkTarget(cells);
		if (!target.ok) return needsFixing(plainWords(target.fault), MALFORMED);
		// Each line is first judged as if the shop decided, which may make every decision. This distinguishes
		// impossible decisions from decisions that this person may not make.
		const spelt = parseDecision(cells, "shop", programme);
		if (!spelt.ok) return needsFixing(spelt.fault.detail, MALFORMED);
		const decision = parseDecision(cells, side, programme);
		if (!decision.ok) return needsFixing(plainWords(decision.fault));
		const conversion = byId.get(cellOf(cells, "conversionId"));
		const sale = sales.get(conversion?.public_id ?? "");
		if (conversion === undefined || sale === undefined) {
			return needsFixing(whyUnknown(cells, byOrder), UNKNOWN);
		}
		const disagreement = findDisagreement(row, conversion);
		if (disagreement !== null) return needsFixing(disagreement);
		return explain(sale, decision.value, nowMs, verdictOn(decideNext(sale, decision.value, nowMs)));
	});
}

type Asked = Decision | RefundDecision;
type Done = DecidedRequest | RefundedRequest;

/** A conversion with its refunds, on which decisions are judged. */
interface Decidable {
	conversion: Conversion;
	refunds: readonly StoredRefund[];
}

function foreseeAny({ conversion, refunds }: Decidable, asked: Asked, nowMs: number): Result<Done> {
	return asked.move === "refund"
		? foreseeRefund(conversion, refunds, asked, nowMs)
		: foresee(conversion, asked, nowMs);
}

/** The state of a conversion while several lines about it are judged one after the other. */
interface ForeseenSale {
	/** The conversion and its refunds as they are in the database. */
	stored: Decidable;
	/** The conversion and its refunds as the lines that were judged so far would leave them. */
	present: Decidable;
}

/**
 * Returns the conversions of the lines, as the lines of earlier batches leave them. `decide` makes the
 * decision of an earlier line again, because the conversion in the database may have changed since that line
 * was judged.
 */
async function foreseeSales(
	db: Db,
	rows: readonly JobRow[],
	byId: ReadonlyMap<string, Conversion>,
	earlier: EarlierLines,
	decide: (sale: ForeseenSale, cells: Cells) => unknown,
): Promise<ReadonlyMap<string, ForeseenSale>> {
	const isRefund = (cells: Cells) => cellOf(cells, "decision") === REFUND;
	const refunding = new Set(
		rows.flatMap(({ cells }) => (isRefund(cells) ? cellOf(cells, "conversionId") : [])),
	);
	for (const id of byId.keys()) {
		if (earlier.get(id)?.some(isRefund) === true) refunding.add(id);
	}
	const refunds = await findRefunds(
		db,
		[...refunding].flatMap((publicId) => byId.get(publicId)?.id ?? []),
	);
	return new Map(
		[...byId].map(([publicId, conversion]) => {
			const stored = { conversion, refunds: refunds.get(conversion.id) ?? [] };
			const sale = { stored, present: stored };
			for (const cells of earlier.get(publicId) ?? []) decide(sale, cells);
			return [publicId, sale];
		}),
	);
}

/** Foresees a decision that follows earlier decisions, and stores in `sale` the state that it would leave. */
function decideNext(sale: ForeseenSale, asked: Asked, nowMs: number): Result<Done> {
	const { refunds } = sale.present;
	const decided = foreseeAny(sale.present, asked, nowMs);
	if (!decided.ok || decided.value.outcome === "already") return decided;
	const { conversion } = decided.value;
	const refund = "refund" in decided.value ? [decided.value.refund] : [];
	sale.present = { conversion, refunds: [...refunds, ...refund] };
	return decided;
}

/**
 * Returns the verdict, extended by the remark that earlier lines are the cause if the line would change
 * something without them.
 */
function explain({ stored }: ForeseenSale, asked: Asked, nowMs: number, verdict: RowVerdict): RowVerdict {
	if (verdict.kind === "change") return verdict;
	const alone = foreseeAny(stored, asked, nowMs);
	if (!alone.ok || alone.value.outcome === "already") return verdict;
	return verdict.kind === "already"
		? needsNoChange("The lines before it in this file do that already.")
		: { ...verdict, detail: `${verdict.detail} The lines before it in this file are taken into account.` };
}

/** Returns the verdict on a line whose decision was made or foreseen, with the money that it moves. */
function verdictOn(decided: Result<Done>): RowVerdict {
	if (!decided.ok) return needsFixing(plainWords(decided.fault));
	const { before, conversion, outcome } = decided.value;
	const refund = "refund" in decided.value ? decided.value.refund : undefined;
	if (outcome === "already") return needsNoChange();
	const { currency, basket_value: basket, commission, network_fee: fee } = conversion;
	const isTest = conversion.test === 1;
	if (refund !== undefined && refundOutcome(refund) === "REFUNDED") {
		return willChange({
			status: "REFUNDED",
			currency,
			basket: refund.amount,
			commission: addAmounts(before.commission, `-${commission}`),
			fee: addAmounts(before.network_fee, `-${fee}`),
			isTest,
		});
	}
	const status = DECIDED_STATUSES.find((known) => known === conversion.status);
	if (status === undefined) throw new Error(`a decision left a conversion ${conversion.status}`);
	return willChange({ status, currency, basket, commission, fee, isTest });
}

/** Decides the conversions that were found when the lines were stored. */
async function applyDecisions(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	const byId = await findOwn(trx, deps, rows);
	const programme = await readProgramme(trx, deps);
	const meant = rows.map(({ cells }): RowVerdict | OrderRequest<Done> => {
		const decision = parseDecision(cells, decidingOf(deps).side, programme);
		if (!decision.ok) return needsFixing(plainWords(decision.fault));
		const conversion = byId.get(cellOf(cells, "conversionId"));
		if (conversion !== undefined) {
			return decision.value.move === "refund"
				? refundOn(conversion, decision.value, deps.personId)
				: decisionOn(conversion, decision.value, deps.personId);
		}
		return needsFixing(
			"This conversion was removed after the preview. Nothing was decided about it.",
			UNKNOWN,
		);
	});
	const requests = meant.filter((one) => "judge" in one);
	const { results, owed } = await changeOrders(trx, deps, requests);
	deps.owe(owed);
	const decided = results.values();
	return meant.map((one) => {
		if (!("judge" in one)) return one;
		const result = decided.next().value;
		if (result === undefined) throw new Error("a decision came back without its result");
		return verdictOn(result);
	});
}

async function readProgramme(db: Db, scope: JobScope): Promise<Programme> {
	const { programmeId } = decidingOf(scope);
	const programme = (await findProgrammesById(db, [programmeId])).get(programmeId);
	if (programme === undefined) throw new Error("decisions about a programme that does not exist");
	return programme;
}

/** Finds the programme's conversions by id. Conversions of other programmes count as unknown. */
async function findOwn(
	db: Db,
	scope: JobScope,
	rows: readonly JobRow[],
): Promise<ReadonlyMap<string, Conversion>> {
	const ids = rows.map(({ cells }) => cellOf(cells, "conversionId")).filter((id) => CONVERSION_ID.test(id));
	const found = await findManyByPublicId(db, [...new Set(ids)]);
	const inProgramme = found.filter(({ programme_id }) => programme_id === decidingOf(scope).programmeId);
	return new Map(inProgramme.map((conversion) => [conversion.public_id, conversion]));
}

/** Checks that the line has a valid conversion id or order id. */
function checkTarget(cells: Cells): Result<unknown> {
	const eventType = parseEventType(eventTypeOf(cells));
	if (!eventType.ok) return eventType;
	const conversionId = cellOf(cells, "conversionId");
	// If there is a conversionId, the orderId need not be valid today. It is only compared with the stored one.
	if (conversionId === "") return parseOrderId(cellOf(cells, "orderId"));
	return CONVERSION_ID.test(conversionId)
		? eventType
		: refuse(
				"invalid_field",
				"conversionId must be one from an export, such as cnv_01KZ…, or be left empty to decide by orderId.",
				"conversionId",
			);
}

function parseDecision(cells: Cells, side: Side, programme: Programme): Result<Asked> {
	const decision = cellOf(cells, "decision");
	if (decision === REFUND) return parseRefund(cells, side, programme);
	const move = parseMove(decision);
	if (!move.ok) {
		const decisionWords = [...DECISION_MOVES, REFUND].join(", ");
		return refuse("invalid_field", `decision must be one of ${decisionWords}.`, "decision");
	}
	if (cellOf(cells, "amount") !== "" || cellOf(cells, "refundId") !== "") {
		return refuse("unknown_field", "Only a refund has an amount and a refundId. Leave both empty.", "amount");
	}
	const reason = cellOf(cells, "reason");
	if (move.value === "approve" && reason !== "") {
		return refuse("unknown_field", "An approval has no reason. Leave the reason empty.", "reason");
	}
	return judgeDecision(side, move.value, reason);
}

function parseRefund(cells: Cells, side: Side, programme: Programme): Result<RefundDecision> {
	const right = judgeRight(side, REFUND);
	if (!right.ok) return right;
	const amount = cellOf(cells, "amount");
	const parsed = checkAll({
		value:
			amount === ""
				? refuse("invalid_field", "A refund needs an amount. Write what was refunded.", "amount")
				: parseTypedRefund(amount, programme.currency),
		refundId: parseRefundId(cellOf(cells, "refundId")),
		reason: parseReason(cellOf(cells, "reason")),
	});
	if (!parsed.ok) return parsed;
	return succeed({ move: REFUND, decidedBy: "shop", ...parsed.value });
}

function whyUnknown(cells: Cells, byOrder: ByOrder): string {
	const conversionId = cellOf(cells, "conversionId");
	if (conversionId !== "") {
		return `This programme has no conversion ${conversionId}. Copy the conversionId from an export of this programme, or leave it empty to decide by orderId.`;
	}
	const eventType = parseEventType(eventTypeOf(cells));
	if (!eventType.ok) return plainWords(eventType.fault);
	const storedTypes = namesakesOf(byOrder, cells).map(({ event_type }) => event_type);
	const order = { orderId: cellOf(cells, "orderId"), eventType: eventType.value };
	return plainWords(refuseUnknownOrder(order, storedTypes).fault);
}

/**
 * Returns which cell contradicts the conversion that the line names, or null if none does. Empty cells are
 * not compared.
 */
function findDisagreement({ line, cells }: JobRow, conversion: Conversion): string | null {
	const { public_id, order_id, event_type } = conversion;
	const says = `Line ${line} names conversion ${public_id}`;
	const advice = `That conversion is ${event_type} ${showOrderId(order_id)}. Correct the line, or leave its conversionId empty to decide by orderId.`;
	const [orderId, eventType] = [cellOf(cells, "orderId"), cellOf(cells, "eventType")];
	if (orderId !== "" && orderId !== order_id) return `${says} but order ${showOrderId(orderId)}. ${advice}`;
	if (eventType !== "" && eventType !== event_type) {
		return `${says} but the event type ${eventType}. ${advice}`;
	}
	return null;
}
