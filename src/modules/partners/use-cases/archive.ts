// Archives a partner that has left, or that was only a sample. Its partnerships end, and it disappears from
// the network's list, but its account and statements stay readable for its people. Staff can resume an
// archived partner. A partner is never deleted, because its account must stay provable.

import { judgeErasedPartner } from "#core/domain/erasure.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { minorUnits } from "#core/domain/money.ts";
import { type PersonActor, STAFF, transactAs } from "#core/people/actor.ts";
import type { InvitationsDeps } from "#core/people/invitations.ts";
import { lockPartner, updatePartner } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { type Balance, findBalances } from "#modules/accounts/store/entries.ts";
import { hasOpenCredit } from "../store/credits.ts";
import { note } from "./partners.ts";
import { endPartnerships } from "./partnerships.ts";

type Deps = Pick<InvitationsDeps, "store" | "clock" | "random">;

/** Archives a partner. Resolves to false if it is archived already. */
export function archivePartner(deps: Deps, actor: PersonActor, partnerId: number): Promise<Result<boolean>> {
	return changeArchived(deps, actor, partnerId, true);
}

/** Resumes an archived partner, whose partnerships stay ended. Resolves to false if it is not archived. */
export function resumePartner(deps: Deps, actor: PersonActor, partnerId: number): Promise<Result<boolean>> {
	return changeArchived(deps, actor, partnerId, false);
}

function changeArchived(
	deps: Deps,
	actor: PersonActor,
	partnerId: number,
	isArchived: boolean,
): Promise<Result<boolean>> {
	return transactAs<boolean>(deps.store, actor, STAFF, async (trx) => {
		const partner = await lockPartner(trx, partnerId);
		if (partner === undefined) return refuse("unknown_partner", "This partner does not exist.");
		if ((partner.archived_at_ms !== null) === isArchived) return succeed(false);
		const judged = judgeErasedPartner(partner);
		if (!judged.ok) return judged;
		const whyNot = isArchived ? await whyNotSettled(trx, partner, "archive") : null;
		if (whyNot !== null) return refuse("wrong_status", whyNot);
		if (isArchived) await endPartnerships(trx, deps, actor, partnerId);
		await updatePartner(trx, partner, { archived_at_ms: isArchived ? deps.clock.nowMs() : null });
		const action = isArchived ? "partner.archived" : "partner.resumed";
		await note(trx, deps, actor, action, partner.public_id, partner.name);
		return succeed(true);
	});
}

/** Returns why a partner cannot be archived or erased yet, or null if it can. */
export async function whyNotSettled(
	db: Db,
	{ id, name }: Partner,
	verb: "archive" | "erase",
): Promise<string | null> {
	if (await hasOpenCredit(db, id)) {
		const next = `${verb === "archive" ? "Archive" : "Erase"} the partner when they are approved or rejected.`;
		return `Some sales of ${name} wait for a decision. ${next}`;
	}
	const owed = (await findBalances(db, id)).filter(hasMoney);
	if (owed.length === 0) return null;
	const currencies = owed.map(({ currency }) => currency).join(" and ");
	return `The account of ${name} is not settled (${currencies}). Pay its statements, or clear the rest with an adjustment, before you ${verb} the partner.`;
}

function hasMoney({ open, due, carried }: Balance): boolean {
	return [open, due, carried].some((amount) => minorUnits(amount) !== 0n);
}
