// Using a one-time link, which no other file does. Whatever it opens happens in one transaction, and the link is gone with
// it.

import { readName } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { ProgrammeRole } from "../domain/roles.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonByEmail, type Person, updatePerson } from "../store/queries/people.ts";
import { addToProgramme } from "../store/queries/programme-people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { hasPassword, setPassword } from "../store/queries/sign-in.ts";
import {
	lockAccess,
	removeFirstStaffLink,
	removeSignInLinksOf,
	spendSignInLink,
} from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import type { SignInLinkPurpose } from "../store/tables/people.ts";
import type { Auth } from "./auth.ts";
import type { AccountsDeps } from "./deps.ts";
import { type EndedAccess, endAccess } from "./end-access.ts";
import { changeAddress } from "./own-settings.ts";
import { forgetWrongPasswords, judgePassword } from "./passwords.ts";
import { findOrMakePerson, parseEmail } from "./people.ts";
import {
	findSignInLink,
	linkNotValid,
	type Membership,
	type OpenedSignInLink,
	readSignInLink,
} from "./sign-in-links.ts";

export interface AcceptDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	mails: MailDispatcher;
	auth: Pick<Auth, "hashPassword">;
}

export interface Acceptance {
	/** Only looked at with the link of the first start. */
	email: string;
	/** Only looked at for a new account. */
	name: string;
	/** Not looked at for an owner's invitation to somebody who has an account. */
	password: string;
	/** Where it was done from: told to somebody whose password it changes, who is let in there. */
	address?: string;
}

export interface AcceptedSignInLink {
	purpose: SignInLinkPurpose;
	person: Person;
	/** What an owner's invitation was for, and what they are there now. */
	programme: Programme | null;
	role: ProgrammeRole | null;
	/** The password that was entered is theirs now. */
	hasNewPassword: boolean;
	/** What a new password ended; null for somebody who had none. */
	ended: EndedAccess | null;
}

/** What was typed, once it has been checked; empty where nothing was asked for. */
interface Entry {
	email: string;
	name: string;
	passwordHash: string;
	address: string | null;
}

export async function acceptSignInLink(
	deps: AcceptDeps,
	token: string,
	acceptance: Acceptance,
): Promise<Result<AcceptedSignInLink>> {
	const looked = await findSignInLink(deps, token);
	if (!looked.ok) return looked;
	const entry = await readEntry(deps, looked.value, acceptance);
	if (!entry.ok) return entry;
	const accepted = await deps.store.transact<Result<AcceptedSignInLink>>(async (trx) => {
		await lockAccess(trx);
		const nowMs = deps.clock.nowMs();
		const read = await readSignInLink(trx, token, nowMs);
		if (read === undefined) return linkNotValid();
		const { link, opened } = read;
		// The account was there when the page asked for no password, and is gone now.
		if (entry.value.passwordHash === "" && needsPassword(opened)) return linkNotValid();
		const { email } = entry.value;
		if (opened.kind === "first" && !(await mayBecomeFirst(trx, email))) {
			return refuse("email_taken", `${email} has an account here already. Use another address.`, "email");
		}
		if (!(await spendSignInLink(trx, link.id))) return linkNotValid();
		const nothingElse = { programme: null, role: null, ended: null };
		const used = await useLink(trx, deps, opened, entry.value, nowMs);
		const hasNewPassword = needsPassword(opened);
		return succeed({ ...nothingElse, ...used, hasNewPassword, purpose: link.purpose });
	});
	deps.mails.wake();
	return accepted;
}

async function readEntry(
	{ auth }: Pick<AcceptDeps, "auth">,
	opened: OpenedSignInLink,
	acceptance: Acceptance,
): Promise<Result<Entry>> {
	const address = acceptance.address ?? null;
	if (!needsPassword(opened)) return succeed({ email: "", name: "", passwordHash: "", address });
	const email = opened.kind === "first" ? parseEmail(acceptance.email) : succeed("");
	if (!email.ok) return email;
	const name = opened.kind === "password" ? succeed("") : readName(acceptance.name, "your");
	if (!name.ok) return name;
	const judged = judgePassword(acceptance.password);
	if (!judged.ok) return judged;
	// Before the transaction: hashing takes its time on purpose, and nobody else should wait for it.
	const passwordHash = await auth.hashPassword(acceptance.password);
	return succeed({ email: email.value, name: name.value, passwordHash, address });
}

function needsPassword(opened: OpenedSignInLink): boolean {
	return opened.kind !== "address" && (opened.kind !== "programme" || !opened.hasAccount);
}

async function useLink(
	trx: Db,
	deps: AcceptDeps,
	opened: OpenedSignInLink,
	entry: Entry,
	nowMs: number,
): Promise<Pick<AcceptedSignInLink, "person"> & Partial<AcceptedSignInLink>> {
	switch (opened.kind) {
		case "first": {
			await removeFirstStaffLink(trx);
			const person = await findOrMakePerson(trx, deps, entry.email, "staff");
			return { person: await join(trx, person, entry, null, nowMs) };
		}
		case "join":
			return { person: await join(trx, opened.person, entry, null, nowMs) };
		case "programme": {
			const { programme, role, email } = opened;
			const person = opened.person ?? (await findOrMakePerson(trx, deps, email, "shop"));
			await addToProgramme(trx, programme.id, person.id, role);
			// Somebody who got a password by another link a moment ago keeps that one.
			if (!opened.hasAccount) {
				return { person: await join(trx, person, entry, opened, nowMs), programme, role };
			}
			await noteJoined(trx, person, opened, nowMs);
			return { person, programme, role };
		}
		case "address": {
			const { address } = entry;
			return { person: await changeAddress(trx, deps, opened.person, opened.email, { nowMs, address }) };
		}
		case "password": {
			const { person } = opened;
			const ended = await endAccess(trx, person, { endedBy: person.id, nowMs });
			await setPassword(trx, person, entry.passwordHash, nowMs);
			const { id: personId, email: subject } = person;
			const note = { personId, action: "password.reset", subject, detail: "by link" } as const;
			await noteAudit(trx, { ...note, address: entry.address }, nowMs);
			await forgetWrongPasswords(trx, person.email, entry.address);
			return { person, ended };
		}
		default:
			return opened satisfies never;
	}
}

/** Every other link that would let them choose a password ends with it. */
async function join(
	trx: Db,
	person: Person,
	{ name, passwordHash, address }: Entry,
	membership: Membership | null,
	nowMs: number,
): Promise<Person> {
	await removeSignInLinksOf(trx, person.id);
	await updatePerson(trx, person.id, { name });
	await setPassword(trx, { ...person, name }, passwordHash, nowMs);
	await forgetWrongPasswords(trx, person.email, address);
	await noteJoined(trx, person, membership, nowMs);
	return { ...person, name };
}

async function noteJoined(
	trx: Db,
	person: Person,
	membership: Membership | null,
	nowMs: number,
): Promise<void> {
	const { id: personId, email: subject } = person;
	const note = { personId, programmeId: membership?.programme.id ?? null, action: "person.joined" } as const;
	const detail = membership?.role ?? (person.kind === "staff" ? "staff" : null);
	await noteAudit(trx, { ...note, subject, detail }, nowMs);
}

/** The first start makes a new account, or completes one that `user create` made as staff; it takes nobody else's. */
async function mayBecomeFirst(trx: Db, email: string): Promise<boolean> {
	const known = await findPersonByEmail(trx, email);
	return known === undefined || (known.kind === "staff" && !(await hasPassword(trx, known.public_id)));
}
