// Opening a programme: its terms are agreed, and it gets its owner in the same step. For the page, where the owner is
// invited, and for the command line, which made the owner before.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { currencyDigits } from "../domain/money.ts";
import { noteAudit } from "../store/audit.ts";
import { findPersonByEmail, type Person } from "../store/people.ts";
import { addToProgramme } from "../store/programme-people.ts";
import { insertProgramme, type Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { AccountsDeps } from "./deps.ts";
import { findOrMakeInvitee, type InvitationsDeps, type SentLink, welcomePerson } from "./invitations.ts";
import { INVITATIONS_BY_ONE_PERSON, useLimits } from "./limits.ts";
import { type Maker, transactAs } from "./links.ts";
import { parseEmail } from "./people.ts";
import {
	type Checked,
	faultsOf,
	parseTerms,
	refuseAll,
	rowOfTerms,
	type TermsInput,
} from "./programme-terms.ts";

type ProgrammesDeps = Pick<AccountsDeps, "store" | "clock" | "random">;

export interface ProgrammeInput extends TermsInput {
	ownerEmail: string;
	currency: string;
	/** Chosen before, so that a form sent twice makes one programme. */
	publicId?: string | undefined;
}

export interface OpenedProgramme {
	programme: Programme;
	/** The owner's invitation; null on the command line. */
	owner: SentLink | null;
}

/** Who invites the owner, and how the mail gets to them. */
export interface Inviter extends Pick<InvitationsDeps, "mails" | "publicUrl"> {
	maker: Maker;
}

export async function openProgramme(
	deps: ProgrammesDeps,
	/** Null: the command line, where the owner has an account already and nobody is mailed. */
	inviter: Inviter | null,
	input: ProgrammeInput,
): Promise<Checked<OpenedProgramme>> {
	const currency = input.currency.trim().toUpperCase();
	const terms = parseTerms(input);
	const email = parseEmail(input.ownerEmail);
	const faults = [
		...(terms.ok ? [] : terms.faults),
		...faultsOf(currencyDigits(currency)),
		...faultsOf(email),
	];
	if (!terms.ok || !email.ok || faults.length > 0) return refuseAll(faults);
	const maker = inviter?.maker ?? null;
	const nowMs = deps.clock.nowMs();
	// Not by address: the owner of ten programmes is mailed ten times.
	if (maker !== null) {
		const use = { limit: INVITATIONS_BY_ONE_PERSON, subject: String(maker.personId) };
		const tooMany = await useLimits(deps.store.db, [use], nowMs);
		if (tooMany !== null) return refuseAll([{ ...tooMany.fault, field: "email" }]);
	}
	const publicId = input.publicId ?? makeId("prg", nowMs, deps.random.bytes(ID_RANDOM_BYTES));
	// All or nothing: a programme that nobody can look after must not be left behind.
	const opened = await transactAs(deps.store, maker, async (trx) => {
		const owner = await findOrInviteOwner(trx, deps, maker, email.value);
		if (!owner.ok) return owner;
		const programme = await insertProgramme(trx, {
			public_id: publicId,
			currency,
			created_at_ms: nowMs,
			...rowOfTerms(terms.value),
		});
		const note = { personId: maker?.personId ?? null, programmeId: programme.id } as const;
		await noteAudit(trx, { ...note, action: "programme.created", subject: publicId }, nowMs);
		return succeed({ programme, owner: await giveOwner(trx, deps, inviter, owner.value, programme) });
	});
	inviter?.mails.wake();
	return opened.ok ? opened : refuseAll([opened.fault]);
}

/** On the command line a mistyped address must not make an account. */
async function findOrInviteOwner(
	trx: Db,
	deps: ProgrammesDeps,
	maker: Maker | null,
	email: string,
): Promise<Result<Person>> {
	const known = await findPersonByEmail(trx, email);
	if (known === undefined) {
		return maker === null ? unknownOwner(email) : findOrMakeInvitee(trx, deps, email, "shop");
	}
	if (known.kind === "shop") return succeed(known);
	return refuse("email_taken", `${email} cannot own a programme. Use another address.`, "email");
}

/** `user create` has given the owner their link already: a new one would end it. */
async function giveOwner(
	trx: Db,
	deps: ProgrammesDeps,
	inviter: Inviter | null,
	owner: Person,
	programme: Programme,
): Promise<SentLink | null> {
	if (inviter !== null) {
		return welcomePerson(trx, { ...deps, ...inviter }, owner, { programme, role: "owner" }, inviter.maker);
	}
	await addToProgramme(trx, programme.id, owner.id, "owner");
	const note = { personId: null, programmeId: programme.id, action: "person.invited" } as const;
	await noteAudit(trx, { ...note, subject: owner.email, detail: "owner" }, deps.clock.nowMs());
	return null;
}

function unknownOwner(email: string): ReturnType<typeof refuse> {
	return refuse(
		"unknown_person",
		`Nobody has the email ${email}. Make the account first: ringback user create --email ${email} --kind shop`,
		"owner",
	);
}
