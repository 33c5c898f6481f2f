// The pixel: a browser reports a sale, unsigned. It always gets its image; what was done or refused, and why,
// is in the inbound log, where the shop's people look.

import * as z from "zod";
import { unknownProgramme } from "../accounts/programmes.ts";
import type { Report } from "../conversions/record.ts";
import { recordConversion } from "../conversions/record.ts";
import { parseEventType } from "../domain/conversion.ts";
import { type Fault, type FaultCode, type Result, succeed } from "../domain/fault.ts";
import { parseOrderId } from "../domain/order-id.ts";
import { insertInboundCalls } from "../store/inbound.ts";
import { findProgramme, type Programme } from "../store/programmes.ts";
import type { AppContext, AppDeps } from "./deps.ts";
import { checkFields, parseQuery } from "./fields.ts";
import { callerBlock, type InboundCall, readInboundCall } from "./inbound-call.ts";
import { type InboundEnd, inboundRow, type RefusalLog } from "./inbound-log.ts";
import { createLateAnswer } from "./late-answer.ts";
import { mentionedOrderId } from "./mentioned-order.ts";
import type { Metrics } from "./metrics.ts";
import { createPixelBudgets } from "./pixel-budgets.ts";
import { createPixelTurns } from "./pixel-turns.ts";
import { ourFault } from "./problem.ts";
import { targetQuery } from "./request-target.ts";
import { parseBasket } from "./sale-fields.ts";
import { BASKET_VALUE, CURRENCY, EVENT_TYPE, ORDER_ID } from "./wire-fields.ts";

/** One transparent point, 43 bytes: the smallest image every browser draws. */
const IMAGE = Buffer.from("R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");

const PATH = /^\/pixel\/([0-9A-Za-z_]{1,64})\.gif$/;

const LIMITED: FaultCode = "pixel_limited";

/** Other names are left alone: shops add their own against caches. */
export const PIXEL_QUERY = z.object({
	orderId: ORDER_ID,
	eventType: EVENT_TYPE.default("SALE"),
	basketValue: BASKET_VALUE,
	currency: CURRENCY.optional(),
});
const NAMES = Object.keys(PIXEL_QUERY.shape);

export function createPixel(
	deps: AppDeps,
	refusals: RefusalLog,
	metrics: Metrics,
): (c: AppContext) => Promise<Response> {
	const budgets = createPixelBudgets();
	const turns = createPixelTurns(deps.clock);
	const answerLate = createLateAnswer(deps.clock, deps.stopSignal);
	return async (c) => {
		const programmeId = PATH.exec(c.req.path)?.[1];
		const outcome = await (takeWithinLimits(c, programmeId) ?? answerLate().then(() => LIMITED));
		metrics.countInbound("pixel", outcome);
		return new Response(IMAGE, { headers: { "content-type": "image/gif", "cache-control": "no-store" } });
	};

	/** Before anything is read: a flood must cost next to nothing. Undefined when the call is not taken. */
	function takeWithinLimits(c: AppContext, programmeId: string | undefined): Promise<string> | undefined {
		const block = callerBlock(c, deps);
		const taken = budgets.take(block, programmeId ?? "", deps.clock.nowMs())
			? turns.take(() => takeReport(readInboundCall(c, deps, "pixel"), programmeId))
			: undefined;
		if (taken === undefined) deps.limitedCalls.note(programmeId ?? "", block);
		return taken;
	}

	/** Resolves to the outcome word or the fault's code; never rejects. */
	async function takeReport(call: InboundCall, programmeId: string | undefined): Promise<string> {
		const query = targetQuery(call.target);
		const orderId = mentionedOrderId({ orderId: query.get("orderId") });
		try {
			const programme =
				programmeId === undefined ? undefined : await findProgramme(deps.store.db, programmeId);
			if (programme === undefined) {
				return await refuse(call, unknownProgramme(programmeId ?? "of that name").fault, null, orderId);
			}
			const report = parseReport(query, programme);
			if (!report.ok) return await refuse(call, report.fault, programme.id, orderId);
			return await record(call, programme, report.value);
		} catch (error) {
			deps.log.error({ err: error, target: call.target }, "a pixel call failed");
			return refuse(call, ourFault(error), null, orderId);
		}
	}

	async function record(call: InboundCall, programme: Programme, report: Report): Promise<string> {
		const recorded = await deps.store.transact(async (trx) => {
			const result = await recordConversion(trx, deps, programme, report);
			const end = result.ok
				? {
						...endOf(programme.id, report.orderId),
						outcome: result.value.outcome,
						conversionId: result.value.conversion.public_id,
					}
				: refusedEnd(result.fault, programme.id, report.orderId);
			await insertInboundCalls(trx, [inboundRow(call, end, deps.clock.nowMs())]);
			return { outcome: end.outcome, owed: result.ok ? result.value.owedProgrammeIds : [] };
		});
		if (recorded.owed.length > 0) deps.store.announceDue(recorded.owed);
		return recorded.outcome;
	}

	async function refuse(
		call: InboundCall,
		found: Fault,
		programmeId: number | null,
		orderId: string | null,
	): Promise<string> {
		await refusals.write(call, refusedEnd(found, programmeId, orderId), deps.clock.nowMs());
		return found.code;
	}
}

function parseReport(query: URLSearchParams, programme: Programme): Result<Report> {
	const ours = new URLSearchParams([...query].filter(([name]) => NAMES.includes(name)));
	const values = parseQuery(ours);
	if (!values.ok) return values;
	const fields = checkFields(PIXEL_QUERY, values.value);
	if (!fields.ok) return fields;
	const orderId = parseOrderId(fields.value.orderId);
	if (!orderId.ok) return orderId;
	const eventType = parseEventType(fields.value.eventType);
	if (!eventType.ok) return eventType;
	const basketValue = parseBasket(programme, fields.value.basketValue, fields.value.currency);
	if (!basketValue.ok) return basketValue;
	return succeed({
		source: "pixel",
		orderId: orderId.value,
		eventType: eventType.value,
		basketValue: basketValue.value,
		// The browser's clock is anybody's guess: ours counts.
		occurredAtMs: null,
		isTest: false,
	});
}

/** 200 whatever happened: that is what the browser was told. */
function endOf(programmeId: number | null, orderId: string | null): Omit<InboundEnd, "outcome"> {
	return { programmeId, httpStatus: 200, detail: null, orderId, conversionId: null };
}

function refusedEnd(found: Fault, programmeId: number | null, orderId: string | null): InboundEnd {
	return { ...endOf(programmeId, orderId), outcome: found.code, detail: found.detail };
}
