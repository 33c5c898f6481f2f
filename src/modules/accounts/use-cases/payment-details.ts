// The payment details of a partner, sealed with the key of the installation. Each change is audited without
// the account itself, and all of the partner's people get a mail about it, because a thief would change the
// account first. Changed details apply from the next statement on.

import * as z from "zod";
import { judgeErasedPartner } from "#core/domain/erasure.ts";
import { type Checked, listFaults, type Result, refuse, refuseAll, succeed } from "#core/domain/fault.ts";
import { openText, SEALED_FOR, SEALING_IV_BYTES, sealText } from "#core/domain/sealing.ts";
import {
	type ActingPerson,
	type Actor,
	forPartner,
	personIdOf,
	type SignedInPerson,
	transactAs,
} from "#core/people/actor.ts";
import type { SignInDeps, Visitor } from "#core/people/auth.ts";
import { LIMITS, useLimits } from "#core/people/limits.ts";
import { checkPassword } from "#core/people/passwords.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { signsInFor } from "#core/store/queries/partner-people.ts";
import { lockPartner } from "#core/store/queries/partners.ts";
import { sealingKeyIn } from "#core/store/queries/sealing-key.ts";
import type { Db } from "#core/store/store.ts";
import {
	describeChange,
	PAYMENT_FIELDS,
	type PaymentDetails,
	type PaymentDetailsInput,
	parsePaymentDetails,
} from "../domain/payment-details.ts";
import { composeDetailsMail } from "../mail/statement-mail.ts";
import { findSealedDetails, listPartnerAddressees, saveSealedDetails } from "../store/statements.ts";
import type { StatementsDeps } from "./deps.ts";

export const DETAILS = z.object({
	payee: z.string(),
	address: z.string(),
	country: z.string(),
	vatId: z.string(),
	iban: z.string(),
	bic: z.string(),
	account: z.string(),
}) satisfies z.ZodType<PaymentDetails>;

export type StoredDetails = z.infer<typeof DETAILS>;

/**
 * Saves the payment details that a person entered on a page. The person must enter their own current password, so that a
 * stolen session cannot redirect payments. Because each change is mailed to all of the partner's people, it counts
 * against the person's limit of mails.
 */
export async function changePaymentDetails(
	deps: StatementsDeps & SignInDeps,
	actor: SignedInPerson,
	email: string,
	partnerId: number,
	{ currentPassword, ...input }: PaymentDetailsInput & { currentPassword: string },
	visitor: Visitor,
): Promise<Checked<boolean>> {
	const read = parsePaymentDetails(input);
	if (!read.ok) return read;
	const checked = await checkPassword(deps, email, currentPassword, visitor);
	if (!checked.ok) return refuseAll([checked.fault]);
	const use = { limit: LIMITS.mailsBy, subject: String(actor.personId) };
	const tooMany = await useLimits(deps.store.db, [use], deps.clock.nowMs());
	if (tooMany !== null) return refuseAll([tooMany.fault]);
	return savePaymentDetails(deps, actor, partnerId, input);
}

/** Saves the payment details of a partner without a password. Resolves to whether something changed. */
export async function savePaymentDetails(
	deps: StatementsDeps,
	actor: Actor,
	partnerId: number,
	input: PaymentDetailsInput,
): Promise<Checked<boolean>> {
	const read = parsePaymentDetails(input);
	if (!read.ok) return read;
	const details = read.value;
	const saved = await transactAs<boolean>(deps.store, actor, forPartner(partnerId), async (trx) => {
		const partner = await lockPartner(trx, partnerId);
		if (partner === undefined) return refuse("unknown_partner", "This partner does not exist.");
		const judged = judgeErasedPartner(partner);
		if (!judged.ok) return judged;
		const before = (await openDetails(trx, deps, [partnerId])).get(partnerId) ?? null;
		if (before !== null && isSame(before, details)) return succeed(false);
		const nowMs = deps.clock.nowMs();
		const key = await sealingKeyIn(trx, deps.keyRing);
		const iv = deps.random.bytes(SEALING_IV_BYTES);
		await saveSealedDetails(trx, partner, {
			sealed: sealText(key, SEALED_FOR.paymentDetails(partnerId), JSON.stringify(details), iv),
			changed_at_ms: nowMs,
			changed_by: personIdOf(actor),
		});
		const detail = describeChange(before, details);
		const note = { personId: personIdOf(actor), action: "payment_details.changed" } as const;
		await noteAudit(trx, { ...note, subject: partner.public_id, detail }, nowMs);
		for (const { email, zone } of await listPartnerAddressees(trx, [partnerId])) {
			const change = { partner, detail, atMs: nowMs, isByStaff: actor.kind !== "shop" };
			await deps.mails.enqueue(trx, composeDetailsMail(email, zone, change, deps.publicUrl));
		}
		return succeed(true);
	});
	deps.mails.wake();
	return listFaults(saved);
}

/** Returns the payment details of a partner to one of its people or to staff. They are null if there are none. */
export async function readPaymentDetails(
	deps: Pick<StatementsDeps, "store" | "keyRing">,
	reader: ActingPerson,
	partnerId: number,
): Promise<Result<PaymentDetails | null>> {
	const maySee = reader.kind !== "shop" || (await signsInFor(deps.store.db, partnerId, reader.personId));
	if (!maySee) {
		return refuse(
			"not_allowed",
			"Only this partner's people and the network's staff see its payment details.",
		);
	}
	return succeed((await openDetails(deps.store.db, deps, [partnerId])).get(partnerId) ?? null);
}

/**
 * Opens the payment details of partners, by partner id. A partner is missing if it has none, or if they were sealed with
 * another key.
 */
export async function openDetails(
	db: Db,
	{ keyRing }: Pick<StatementsDeps, "keyRing">,
	partnerIds: readonly number[],
): Promise<ReadonlyMap<number, StoredDetails>> {
	const rows = await findSealedDetails(db, partnerIds);
	return new Map(
		rows.flatMap(({ partner_id, sealed }) => {
			const text = openText(keyRing, SEALED_FOR.paymentDetails(partner_id), sealed);
			return text === null ? [] : [[partner_id, DETAILS.parse(JSON.parse(text))] as const];
		}),
	);
}

function isSame(one: PaymentDetails, other: PaymentDetails): boolean {
	return PAYMENT_FIELDS.every((field) => one[field] === other[field]);
}
