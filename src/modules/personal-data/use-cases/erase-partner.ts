// Erases a partner, with the people who sign in for nothing else. Its partnerships, clicks, codes, tokens and callbacks end,
// and what it entered is removed. Its account and its issued statements stay, because the network must be able to prove what
// it has paid. A statement keeps the names of its parties for the legal period (statement-texts.ts).

import { ERASED_PARTNER } from "#core/domain/erasure.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { utcDay } from "#core/domain/time.ts";
import { personIdOf, STAFF, transactAs } from "#core/people/actor.ts";
import { endAccess } from "#core/people/end-access.ts";
import { revokeTokensOf } from "#core/store/queries/api-tokens.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { listPartnerPeopleIds, listPartnersOf } from "#core/store/queries/partner-people.ts";
import { findPartner, lockPartner, updatePartner } from "#core/store/queries/partners.ts";
import { findPersonById, lockPerson, type Person } from "#core/store/queries/people.ts";
import { listRolesOf } from "#core/store/queries/programme-people.ts";
import { findPartnerReceiver, lockPartnerReceiver, removeEndpoint } from "#core/store/queries/receivers.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { whyNotSettled } from "#modules/partners/use-cases/archive.ts";
import { endPartnerships } from "#modules/partners/use-cases/partnerships.ts";
import { removeMails, removePartnerRows, removeReceiverRows } from "../store/erased-rows.ts";
import { type Erasure, insertErasure } from "../store/erasures.ts";
import type { PrivacyDeps } from "./deps.ts";
import { type Eraser, eraseAccount, FIRST_STEP } from "./erase-person.ts";
import { findWordsOfPartner, sealWords } from "./erased-words.ts";

export interface PartnerPreview {
	/** People who sign in for nothing else, and are erased with the partner. */
	erasedPeople: readonly Person[];
	/** People who keep their account, because they belong to another partner or to a programme. */
	keptPeople: readonly Person[];
	/** Success if the partner can be erased, or a refusal that says why not. */
	judged: Result<true>;
}

/** Returns what the erasure of a partner would change. */
export async function previewPartner(db: Db, partner: Partner): Promise<PartnerPreview> {
	return { ...(await sortPeople(db, partner.id)), judged: await judgePartner(db, partner) };
}

/** Erases a partner. Only staff and the command line may do this. */
export async function erasePartner(
	deps: PrivacyDeps,
	actor: Eraser,
	publicId: string,
): Promise<Result<{ erasure: Erasure; people: readonly Erasure[] }>> {
	const { store } = deps;
	const known = await findPartner(store.db, publicId);
	if (known === undefined) return refuse("unknown_partner", `There is no partner ${publicId}.`);
	const erased = await transactAs<{ erasure: Erasure; people: Erasure[] }>(
		store,
		actor,
		STAFF,
		async (trx) => {
			const partner = await lockPartner(trx, known.id);
			if (partner === undefined) return refuse("unknown_partner", `There is no partner ${publicId}.`);
			const judged = await judgePartner(trx, partner);
			if (!judged.ok) return judged;
			const nowMs = deps.clock.nowMs();
			const erasedBy = personIdOf(actor);
			const words = { ...(await findWordsOfPartner(trx, partner)), replacement: ERASED_PARTNER };
			await endPartnerships(trx, deps, actor, partner.id, true);
			const people = await erasePeople(trx, deps, actor, partner);
			const receiver = await lockPartnerReceiver(trx, partner.id);
			if (receiver !== undefined) {
				await removeEndpoint(trx, receiver, nowMs);
				await removeReceiverRows(trx, receiver.receiver_id);
			}
			await revokeTokensOf(trx, partner.id, nowMs);
			await removePartnerRows(trx, partner.id);
			await removeMails(trx, words.emails);
			await updatePartner(trx, partner, {
				name: ERASED_PARTNER,
				site: "",
				vat_percent: null,
				vat_note: "",
				archived_at_ms: partner.archived_at_ms ?? nowMs,
				erased_at_ms: nowMs,
			});
			await noteAudit(trx, { personId: erasedBy, action: "partner.erased", subject: publicId }, nowMs);
			const erasure = await insertErasure(trx, {
				kind: "partner",
				subject_id: partner.id,
				public_id: publicId,
				erased_by: erasedBy,
				erased_at_ms: nowMs,
				sealed_words: await sealWords(trx, deps, publicId, words),
				...FIRST_STEP,
				due_at_ms: nowMs,
			});
			return succeed({ erasure, people });
		},
	);
	if (!erased.ok) return erased;
	store.announceChange(null);
	const receiver = await findPartnerReceiver(store.db, known.id);
	if (receiver !== undefined) store.announceTargetChange(receiver.receiver_id);
	const people = erased.value.people.map(({ public_id }) => public_id);
	deps.log.info({ partner: publicId, people }, "the data of a partner was erased");
	return erased;
}

async function judgePartner(db: Db, partner: Partner): Promise<Result<true>> {
	const { erased_at_ms: erasedAtMs } = partner;
	if (erasedAtMs !== null) {
		const text = `This partner was erased on ${utcDay(erasedAtMs)}. Nothing is left to erase.`;
		return refuse("already_erased", text);
	}
	const whyNot = await whyNotSettled(db, partner, "erase");
	return whyNot === null ? succeed(true) : refuse("wrong_status", whyNot);
}

async function sortPeople(
	db: Db,
	partnerId: number,
): Promise<Pick<PartnerPreview, "erasedPeople" | "keptPeople">> {
	const erasedPeople: Person[] = [];
	const keptPeople: Person[] = [];
	for (const personId of await listPartnerPeopleIds(db, partnerId)) {
		const person = await findPersonById(db, personId);
		if (person === undefined) continue;
		const isOnlyHere =
			person.kind === "shop" &&
			(await listRolesOf(db, personId)).length === 0 &&
			(await listPartnersOf(db, personId)).every(({ id }) => id === partnerId);
		(isOnlyHere ? erasedPeople : keptPeople).push(person);
	}
	return { erasedPeople, keptPeople };
}

/** Ends the access of the partner's people, and erases those who sign in for nothing else. */
async function erasePeople(
	trx: Db,
	deps: PrivacyDeps,
	actor: Eraser,
	{ id: partnerId }: Partner,
): Promise<Erasure[]> {
	const { erasedPeople, keptPeople } = await sortPeople(trx, partnerId);
	for (const { id } of keptPeople) {
		await endAccess(trx, id, { endedBy: personIdOf(actor), partnerId, nowMs: deps.clock.nowMs() });
	}
	const erasures: Erasure[] = [];
	for (const { id } of erasedPeople) {
		const person = await lockPerson(trx, "id", id);
		if (person !== undefined) erasures.push(await eraseAccount(trx, deps, actor, person));
	}
	return erasures;
}
