// Adds a bonus or a correction to the account of a partner. It is part of the partner's next statement.

import { type Checked, checkAll, listFaults, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { isZero, parseFormAmount } from "#core/domain/money.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import { type Actor, personIdOf, STAFF, transactAs } from "#core/people/actor.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { findPartnerById } from "#core/store/queries/partners.ts";
import { hasAdjustmentSince } from "../store/entries.ts";
import { ENTRIES } from "../store/tables.ts";
import type { StatementsDeps } from "./deps.ts";
import { parseReason } from "./payments.ts";

export interface AdjustmentInput {
	currency: string;
	/** Amount as it was typed. A negative amount reduces the partner's balance. */
	amount: string;
	reason: string;
}

/** Time within which the same adjustment of the same person counts as sent twice by accident. */
const REPEATED_WITHIN_MS = 10 * MINUTE_MS;

/** Adjusts the account of a partner. Resolves to the amount in canonical form. */
export async function adjustAccount(
	deps: StatementsDeps,
	actor: Actor,
	partnerId: number,
	input: AdjustmentInput,
): Promise<Checked<{ amount: string; currency: string }>> {
	const currency = input.currency.trim().toUpperCase();
	const read = checkAll({
		amount: parseSignedAmount(input.amount, currency),
		reason: parseReason(input.reason),
	});
	if (!read.ok) return read;
	const { amount, reason } = read.value;
	const adjusted = await transactAs<{ amount: string; currency: string }>(
		deps.store,
		actor,
		STAFF,
		async (trx) => {
			const partner = await findPartnerById(trx, partnerId);
			if (partner === undefined) return refuse("unknown_partner", "This partner does not exist.");
			const nowMs = deps.clock.nowMs();
			const personId = personIdOf(actor);
			const entered = { partnerId, personId, currency, amount, reason };
			if (await hasAdjustmentSince(trx, entered, nowMs - REPEATED_WITHIN_MS)) {
				return refuse(
					"already_adjusted",
					"You entered the same amount with the same reason a few minutes ago. If you mean it a second time, write another reason.",
					"reason",
				);
			}
			const entry = {
				partner_id: partnerId,
				programme_id: null,
				conversion_id: null,
				kind: "ADJUSTED",
				amount,
				currency,
				person_id: personId,
				reason,
				at_ms: nowMs,
			} as const;
			await deps.store.batch.write(trx, { ofModules: [ENTRIES.add([entry])] });
			const note = { personId, action: "account.adjusted", subject: partner.public_id } as const;
			await noteAudit(trx, { ...note, detail: `${amount} ${currency}: ${reason}` }, nowMs);
			return succeed({ amount, currency });
		},
	);
	return listFaults(adjusted);
}

function parseSignedAmount(text: string, currency: string): Result<string> {
	// Word processors write the minus sign as U+2212.
	const typed = text.trim().replace(/^−/, "-");
	const isNegative = typed.startsWith("-");
	const amount = parseFormAmount(typed.replace(/^[-+]/, ""), currency, "amount", "amount");
	if (!amount.ok) return amount;
	if (isZero(amount.value)) {
		return refuse(
			"zero_amount",
			"Enter an amount other than 0. With a minus sign it is taken away.",
			"amount",
		);
	}
	return succeed(isNegative ? `-${amount.value}` : amount.value);
}
