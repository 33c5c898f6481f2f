// Sends a test callback to a partner. It has the form of every other callback, is marked as a test and is about no real
// conversion, so that no shop sees it and no total counts it.

import type { EventName } from "#core/domain/event-name.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { parseAmount } from "#core/domain/money.ts";
import { composePartnerEvent } from "#core/domain/partner-event.ts";
import type { Actor } from "#core/people/actor.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import { testUseOf, useLimits } from "#core/people/limits.ts";
import { changeReceiver, type ReceiverOwner } from "#core/programmes/receivers.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { findSendingEpoch } from "#core/store/queries/bring-forward.ts";
import type { Db } from "#core/store/store.ts";
import { listPartnerships } from "../store/partnerships.ts";

/** Public id of the programme in a test callback to a partner that is in no programme. */
const NO_PROGRAMME = "prg_none";
const COMMISSION = "10";

/** Sends a test callback with this event to the URL that is saved now. Resolves to the public id of the delivery. */
export async function sendTestCallback(
	deps: Pick<AccountsDeps, "store" | "clock" | "random">,
	partnerPublicId: string,
	event: EventName,
	actor: Actor,
): Promise<Result<string>> {
	const { store } = deps;
	const sent = await changeReceiver(deps, partnerPublicId, actor, async (change) => {
		const { trx, receiver, owner, personId, nowMs } = change;
		const { receiver_id: receiverId } = receiver;
		const endpointEpoch = await findSendingEpoch(trx, receiverId);
		if (endpointEpoch === undefined) {
			return refuse("no_postback_url", "There is no callback URL now. Save one first, then send a test.");
		}
		const tooMany = await useLimits(trx, [testUseOf(owner.public_id)], nowMs);
		if (tooMany !== null) return tooMany;
		const body = await composeTest(trx, deps, owner, event, nowMs);
		const deliveryPublicId = makeId("dlv", nowMs, deps.random.bytes(ID_RANDOM_BYTES));
		const owed = {
			conversion_id: null,
			receiver_id: receiverId,
			endpoint_epoch: endpointEpoch,
			public_id: deliveryPublicId,
			name: event,
			body,
			at_ms: nowMs,
		};
		await store.batch.write(trx, { events: [owed] });
		const note = { personId, action: "partner.test_sent", subject: owner.public_id, detail: event } as const;
		await noteAudit(trx, note, nowMs);
		return succeed({ deliveryPublicId, owed: { receiverIds: [receiverId], dueAtMs: nowMs } });
	});
	if (!sent.ok) return sent;
	store.announceDue(sent.value.owed);
	return succeed(sent.value.deliveryPublicId);
}

async function composeTest(
	trx: Db,
	{ random }: Pick<AccountsDeps, "random">,
	partner: ReceiverOwner,
	event: EventName,
	nowMs: number,
): Promise<string> {
	const [partnership] = await listPartnerships(trx, "partner_id", [partner.id]);
	const currency = partnership?.programme_currency ?? "EUR";
	const commission = parseAmount(COMMISSION, currency, "commission");
	const isReasoned = event === "conversion.rejected" || event === "conversion.reversed";
	return composePartnerEvent({
		conversionId: makeId("cnv", nowMs, random.bytes(ID_RANDOM_BYTES)),
		programId: partnership?.programme_public_id ?? NO_PROGRAMME,
		partnerId: partner.public_id,
		linkId: null,
		eventType: "SALE",
		basketValue: null,
		commission: commission.ok ? commission.value : COMMISSION,
		currency,
		reason: isReasoned ? "TEST_ORDER" : null,
		creditedBy: "CLICK",
		subIds: ["test-1", "test-2", "test-3"],
		test: true,
		clickedAtMs: nowMs,
		occurredAtMs: nowMs,
	});
}
