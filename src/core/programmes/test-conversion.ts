// Test conversions that people send from the integration page. They follow every rule, can go through every move, and
// are not counted in any total.

import { findFirstCode } from "#modules/partners/store/coupon-codes.ts";
import { decideConversion, type TestDecision } from "../conversions/decide.ts";
import type { ConversionsDeps } from "../conversions/deps.ts";
import { recordConversion } from "../conversions/record.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { parseAmount } from "../domain/money.ts";
import { type Actor, inProgramme, personIdOf, transactAs } from "../people/actor.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { type Conversion, findByPublicId } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";

export const TEST_ORDER_PREFIX = "test-";
/**
 * Number of random bytes in the order id of a test. With 40 bits, two tests practically never get the same order id.
 */
const ORDER_BYTES = 5;
const BASKET_VALUE = "100";

export interface TestSent {
	conversion: Conversion;
	/** Whether the event will be sent. False if there is no Postback URL or no signing secret. */
	isOwed: boolean;
}

export async function sendTestConversion(
	deps: ConversionsDeps,
	programme: Programme,
	actor: Actor,
): Promise<Result<TestSent>> {
	const basketValue = parseAmount(BASKET_VALUE, programme.currency, "basketValue");
	if (!basketValue.ok) return basketValue;
	const personId = personIdOf(actor);
	const send = async (trx: Db) => {
		const recorded = await recordConversion(trx, deps, programme, {
			source: "test",
			orderId: `${TEST_ORDER_PREFIX}${deps.random.hex(ORDER_BYTES)}`,
			eventType: "SALE",
			basketValue: basketValue.value,
			occurredAtMs: null,
			isTest: true,
			// With a coupon code, the test shows a partner and the commission that the shop would pay.
			couponCodes: [(await findFirstCode(trx, programme.id))?.code ?? []].flat(),
		});
		if (!recorded.ok) return recorded;
		const subject = recorded.value.conversion.public_id;
		const note = { personId, programmeId: programme.id, action: "conversion.test_sent", subject } as const;
		await noteAudit(trx, note, deps.clock.nowMs());
		return recorded;
	};
	const sent = await transactAs(deps.store, actor, inProgramme(programme.id, "integrate"), send);
	if (!sent.ok) return sent;
	deps.store.announceDue(sent.value.owed);
	return succeed({ conversion: sent.value.conversion, isOwed: isOwedTo(programme, sent.value.owed) });
}

/**
 * Makes a decision about a test conversion. Real conversions are refused, because the buttons for tests must not
 * decide about real money.
 */
export async function walkTestConversion(
	deps: ConversionsDeps,
	programme: Programme,
	conversionId: string,
	decision: TestDecision,
	actor: Actor,
): Promise<Result<TestSent>> {
	const personId = personIdOf(actor);
	const walk = async (trx: Db) => {
		const found = await findByPublicId(trx, programme.id, conversionId);
		if (found === undefined || found.source !== "test") {
			return refuse("unknown_conversion", "There is no such test conversion here. Send a new one.");
		}
		const decided = await decideConversion(trx, deps, found, decision, personId);
		if (!decided.ok) return decided;
		const note = { personId, programmeId: programme.id, action: "conversion.decided" } as const;
		await noteAudit(
			trx,
			{ ...note, subject: conversionId, detail: decided.value.outcome },
			deps.clock.nowMs(),
		);
		return decided;
	};
	const walked = await transactAs(deps.store, actor, inProgramme(programme.id, "integrate"), walk);
	if (!walked.ok) return walked;
	deps.store.announceDue(walked.value.owed);
	return succeed({ conversion: walked.value.conversion, isOwed: isOwedTo(programme, walked.value.owed) });
}

/**
 * Returns whether the shop gets an event. If the test has a partner's coupon code, the partner may get an event, too.
 */
function isOwedTo({ receiver_id }: Programme, { receiverIds }: Owed): boolean {
	return receiverIds.includes(receiver_id);
}
