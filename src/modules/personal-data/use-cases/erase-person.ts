// Erases a person. Everything with which they sign in ends, and their name and addresses are removed from the account and
// then from everything that names them. The account itself stays without a name, because decisions, payments and the audit
// log refer to it.

import { erasedPerson } from "#core/domain/erasure.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { utcDay } from "#core/domain/time.ts";
import { type CommandLine, type PersonActor, personIdOf, STAFF, transactAs } from "#core/people/actor.ts";
import { endAccess, previewEnding } from "#core/people/end-access.ts";
import type { Locked } from "#core/store/locked.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { countPartnerPeople, listPartnersOf } from "#core/store/queries/partner-people.ts";
import { hasPassword } from "#core/store/queries/passwords.ts";
import { lockPerson, type Person, updatePerson } from "#core/store/queries/people.ts";
import {
	hasOtherOwner,
	hasOtherStaff,
	listRolesOf,
	type RoleInProgramme,
} from "#core/store/queries/programme-people.ts";
import { lockProgramme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { removeAccountOf, removeInvitations, removeMails } from "../store/erased-rows.ts";
import { type Erasure, insertErasure } from "../store/erasures.ts";
import type { PrivacyDeps } from "./deps.ts";
import { findWordsOfPerson, sealWords } from "./erased-words.ts";

export type Eraser = PersonActor | CommandLine;

export interface PersonPreview {
	roles: readonly RoleInProgramme[];
	/** Partners that the person signs in for. */
	partners: readonly { name: string; publicId: string; isAlone: boolean }[];
	ending: Awaited<ReturnType<typeof previewEnding>>;
	/** Success if the person can be erased, or a refusal that says why not. */
	judged: Result<true>;
}

/** Returns what the erasure of a person would end and change. */
export async function previewPerson(db: Db, person: Person, nowMs: number): Promise<PersonPreview> {
	const partners = await listPartnersOf(db, person.id);
	return {
		roles: await listRolesOf(db, person.id),
		partners: await Promise.all(
			partners.map(async ({ id, name, public_id: publicId }) => ({
				name,
				publicId,
				isAlone: (await countPartnerPeople(db, id)) === 1,
			})),
		),
		ending: await previewEnding(db, person.id, null, nowMs),
		judged: await judgePerson(db, person),
	};
}

/** Erases a person. API keys that they issued end, except `keptKeys`. Only staff and the command line may do this. */
export async function erasePerson(
	deps: PrivacyDeps,
	actor: Eraser,
	publicId: string,
	keptKeys: readonly string[],
	/** Names of the person besides the name of the account. */
	otherNames: readonly string[] = [],
): Promise<Result<Erasure>> {
	const { store } = deps;
	const changedProgrammes = new Set<number>();
	const erased = await transactAs<Erasure>(store, actor, STAFF, async (trx) => {
		const person = await lockPerson(trx, "public_id", publicId);
		if (person === undefined) return refuse("unknown_person", `There is no person ${publicId}.`);
		if (person.id === personIdOf(actor)) {
			const text = "You cannot erase your own account. Ask another member of the staff.";
			return refuse("not_allowed", text);
		}
		const roles = await listRolesOf(trx, person.id);
		for (const { programmeId } of roles) await lockProgramme(trx, programmeId);
		const judged = await judgePerson(trx, person);
		if (!judged.ok) return judged;
		for (const { programmeId } of roles) changedProgrammes.add(programmeId);
		const { keys } = await previewEnding(trx, person.id, null, deps.clock.nowMs());
		for (const { programme_id } of keys) changedProgrammes.add(programme_id);
		return succeed(await eraseAccount(trx, deps, actor, person, { keptKeys, otherNames }));
	});
	if (!erased.ok) return erased;
	for (const programmeId of changedProgrammes) store.announceChange(programmeId);
	store.announceChange(null);
	deps.log.info({ person: publicId }, "the data of a person was erased");
	return erased;
}

/** Refuses the erasure of a person who must stay. A caller that acts on the answer must hold the locks. */
async function judgePerson(db: Db, person: Person): Promise<Result<true>> {
	const { id, kind, email, erased_at_ms: erasedAtMs } = person;
	if (erasedAtMs !== null) {
		const text = `This person was erased on ${utcDay(erasedAtMs)}. Nothing is left to erase.`;
		return refuse("already_erased", text);
	}
	if (kind === "staff" && (await hasPassword(db, id)) && !(await hasOtherStaff(db, id))) {
		const text = `${email} is the last member of the staff who can sign in. Invite another one first.`;
		return refuse("wrong_status", text);
	}
	for (const { role, programmeId, name, archivedAtMs } of await listRolesOf(db, id)) {
		if (role !== "owner" || archivedAtMs !== null || (await hasOtherOwner(db, programmeId, id))) continue;
		const text = `${email} is the only owner of the programme ${name}. Make another person an owner, or archive the programme first.`;
		return refuse("wrong_status", text);
	}
	return succeed(true);
}

/**
 * Erases a person in the caller's transaction. The caller must hold the access lock, and must have checked
 * that the person can be erased.
 */
export async function eraseAccount(
	trx: Db,
	deps: Pick<PrivacyDeps, "clock" | "random" | "keyRing">,
	actor: Eraser,
	person: Locked<Person>,
	{ keptKeys = [], otherNames = [] }: { keptKeys?: readonly string[]; otherNames?: readonly string[] } = {},
): Promise<Erasure> {
	const { id: personId, public_id: publicId } = person;
	const nowMs = deps.clock.nowMs();
	const erasedBy = personIdOf(actor);
	const words = {
		...(await findWordsOfPerson(trx, person, otherNames)),
		replacement: erasedPerson(publicId),
	};
	const roles = await listRolesOf(trx, personId);
	await endAccess(trx, personId, { endedBy: erasedBy, nowMs, keptKeys });
	await removeAccountOf(trx, personId);
	await removeInvitations(trx, words.emails);
	await updatePerson(trx, person, {
		email: words.replacement,
		name: "",
		zone: null,
		locale: null,
		mails_callbacks_failing: 0,
		mails_callbacks_working_again: 0,
		mails_decisions_waiting: 0,
		mails_sales: "none",
		deactivated_at_ms: person.deactivated_at_ms ?? nowMs,
		erased_at_ms: nowMs,
	});
	// The account no longer has the address here. Mails to the address of an account would stay.
	await removeMails(trx, words.emails);
	for (const { programmeId, role } of roles) {
		const note = { personId: erasedBy, programmeId, action: "person.removed" } as const;
		await noteAudit(trx, { ...note, subject: words.replacement, detail: role }, nowMs);
	}
	await noteAudit(trx, { personId: erasedBy, action: "person.erased", subject: publicId }, nowMs);
	return insertErasure(trx, {
		kind: "person",
		subject_id: personId,
		public_id: publicId,
		erased_by: erasedBy,
		erased_at_ms: nowMs,
		sealed_words: await sealWords(trx, deps, publicId, words),
		...FIRST_STEP,
		due_at_ms: nowMs,
	});
}

/** Start of the work that follows an erasure. */
export const FIRST_STEP = { round: 1, step: 0, position: "" } as const;
