// Accepts a one-time sign-in link. All its effects happen in one transaction, which also makes the link
// invalid.

import { readName } from "../domain/display-name.ts";
import { type Checked, checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import type { Locked } from "../store/locked.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	addPartnerPerson,
	hasRoleInProgrammeOf,
	listPartnersOf,
	signsInForPartnerOf,
} from "../store/queries/partner-people.ts";
import { hasPassword, setPassword } from "../store/queries/passwords.ts";
import { findPersonByEmail, lockPerson, type Person, updatePerson } from "../store/queries/people.ts";
import { addToProgramme } from "../store/queries/programme-people.ts";
import {
	isInvitedToProgrammeOf,
	lockAccess,
	removeFirstStaffLink,
	removeSignInLinksOf,
	spendSignInLink,
} from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import type { SignInLinkPurpose } from "../store/tables/people.ts";
import type { Auth } from "./auth.ts";
import type { AccountsDeps } from "./deps.ts";
import type { EndedAccess } from "./end-access.ts";
import { changeAddress } from "./own-settings.ts";
import { announceEndedTokens, forgetWrongPasswords, judgePassword, replacePassword } from "./passwords.ts";
import { findOrCreatePerson, parseEmail } from "./people.ts";
import {
	findSignInLink,
	linkNotValid,
	type OfferedPlace,
	type OpenedSignInLink,
	readSignInLink,
} from "./sign-in-links.ts";

export interface AcceptDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	mails: MailDispatcher;
	auth: Pick<Auth, "hashPassword">;
}

/** Fields of the form on the page that a sign-in link opens. */
export interface Acceptance {
	/** Email address of the first member of staff. Used only with the link of the first start. */
	email: string;
	/** Name of the person. Used only for a new account. */
	name: string;
	/** The new password. Ignored if an owner invites a person who already has an account. */
	password: string;
	/** The IP address of the request, which the mail about the changed password shows. */
	address?: string;
	/** Public ids of the API tokens that stay valid although the person gets a new password. */
	keptTokens?: readonly string[];
}

export interface AcceptedSignInLink {
	purpose: SignInLinkPurpose;
	person: Person;
	/** The programme or partner whose invitation the person accepted, or null for other links. */
	place: OfferedPlace | null;
	/** True if the link was printed by `ringback user link` or by the first start, and not mailed. */
	isFromOperator: boolean;
	/** Whether the entered password is now the person's password. */
	hasNewPassword: boolean;
	/**
	 * The sessions, links and keys that the new password ended, or null if the person had no password before.
	 */
	ended: EndedAccess | null;
}

/** Validated fields of the form. A field that the link does not need is empty. */
interface Entry {
	email: string;
	name: string;
	passwordHash: string;
	address: string | null;
	keptTokens: readonly string[];
}

/** Purposes of links that are printed on the server and never mailed. */
const OPERATORS: readonly SignInLinkPurpose[] = ["first_staff", "operator_link"];

export async function acceptSignInLink(
	deps: AcceptDeps,
	token: string,
	acceptance: Acceptance,
): Promise<Checked<AcceptedSignInLink> | Result<AcceptedSignInLink>> {
	const found = await findSignInLink(deps, token);
	if (!found.ok) return found;
	const entry = await validateAcceptance(deps, found.value, acceptance);
	if (!entry.ok) return entry;
	const accepted = await deps.store.transact<Result<AcceptedSignInLink>>(async (trx) => {
		await lockAccess(trx);
		const nowMs = deps.clock.nowMs();
		const read = await readSignInLink(trx, token, nowMs);
		if (read === undefined) return linkNotValid();
		const { link, opened } = read;
		// The form had no password field, because the person had an account at that time. Now there is no such
		// account.
		if (entry.value.passwordHash === "" && needsPassword(opened)) return linkNotValid();
		const { email } = entry.value;
		if (opened.kind === "first" && !(await mayBecomeFirst(trx, email))) {
			return refuse("email_taken", `${email} has an account here already. Use another address.`, "email");
		}
		const whyNot = await whyOnlyStaffAdd(trx, opened);
		if (whyNot !== null) return refuse("not_allowed", whyNot);
		if (!(await spendSignInLink(trx, link.id))) return linkNotValid();
		const nothingElse = { place: null, ended: null };
		const used = await useLink(trx, deps, opened, entry.value, nowMs);
		const hasNewPassword = needsPassword(opened);
		const isFromOperator = OPERATORS.includes(link.purpose);
		return succeed({ ...nothingElse, ...used, hasNewPassword, isFromOperator, purpose: link.purpose });
	});
	deps.mails.wake();
	if (accepted.ok && accepted.value.ended !== null) announceEndedTokens(deps.store, accepted.value.ended);
	return accepted;
}

async function validateAcceptance(
	{ auth }: Pick<AcceptDeps, "auth">,
	opened: OpenedSignInLink,
	acceptance: Acceptance,
): Promise<Checked<Entry>> {
	const { keptTokens = [] } = acceptance;
	const address = acceptance.address ?? null;
	if (!needsPassword(opened)) return succeed({ email: "", name: "", passwordHash: "", address, keptTokens });
	const checked = checkAll({
		email: opened.kind === "first" ? parseEmail(acceptance.email) : succeed(""),
		name: opened.kind === "password" ? succeed("") : readName(acceptance.name, "your"),
		password: judgePassword(acceptance.password),
	});
	if (!checked.ok) return checked;
	const { email, name } = checked.value;
	// The hash is computed before the transaction starts, because hashing is slow by design and other
	// transactions must not wait.
	const passwordHash = await auth.hashPassword(acceptance.password);
	return succeed({ email, name, passwordHash, address, keptTokens });
}

function needsPassword(opened: OpenedSignInLink): boolean {
	return opened.kind === "offer" ? !opened.hasAccount : opened.kind !== "address";
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
			const person = await findOrCreatePerson(trx, deps, entry.email, "staff");
			return { person: await join(trx, person, entry, null, nowMs) };
		}
		case "join": {
			const person = await join(trx, await lockOpened(trx, opened), entry, null, nowMs, opened.inviter);
			for (const partner of await listPartnersOf(trx, person.id)) {
				await noteJoined(trx, person, { kind: "partner", partner }, nowMs);
			}
			return { person };
		}
		case "offer": {
			const { place } = opened;
			const person = await findOrCreatePerson(trx, deps, opened.email, "shop");
			if (place.kind === "partner") await addPartnerPerson(trx, place.partner.id, person.id);
			else await addToProgramme(trx, place.programme.id, person.id, place.role);
			if (!opened.hasAccount) return { person: await join(trx, person, entry, place, nowMs), place };
			// If the person chose a password with another link a moment ago, that password stays valid.
			await noteJoined(trx, person, place, nowMs);
			return { person, place };
		}
		case "address": {
			const person = await lockOpened(trx, opened);
			const { address } = entry;
			return { person: await changeAddress(trx, deps, person, opened.email, { nowMs, address }) };
		}
		case "password": {
			const { person } = opened;
			const { passwordHash, address, keptTokens } = entry;
			const chosen = { action: "password.reset", passwordHash, address, keptTokens, nowMs } as const;
			return { person, ended: await replacePassword(trx, person, chosen) };
		}
		default:
			return opened satisfies never;
	}
}

async function lockOpened(trx: Db, { person }: { person: Person }): Promise<Locked<Person>> {
	const locked = await lockPerson(trx, "id", person.id);
	if (locked === undefined) throw new Error("the person of a link is not there");
	return locked;
}

/**
 * Gives a person their name and first password. All other links with which they could choose a password
 * become invalid.
 */
async function join(
	trx: Db,
	person: Locked<Person>,
	{ name, passwordHash, address }: Entry,
	place: OfferedPlace | null,
	nowMs: number,
	/** Email address of the colleague who invited a member of the staff, or null if nobody did. */
	inviter: string | null = null,
): Promise<Person> {
	await removeSignInLinksOf(trx, person.id);
	await updatePerson(trx, person, { name });
	await setPassword(trx, person.id, passwordHash, nowMs);
	await forgetWrongPasswords(trx, person.email, address);
	if (person.kind === "staff") {
		// All staff are mailed, because a thief may have sent the invitation in a colleague's session.
		const note = { personId: person.id, action: "staff.joined", subject: person.email } as const;
		await noteAudit(trx, { ...note, detail: inviter }, nowMs);
	} else {
		await noteJoined(trx, person, place, nowMs);
	}
	return { ...person, name };
}

async function noteJoined(
	trx: Db,
	{ id: personId, email }: Person,
	place: OfferedPlace | null,
	nowMs: number,
): Promise<void> {
	if (place?.kind === "partner") {
		// The partner's other people get a mail about the new person. Owners of programmes get none.
		const note = { personId, action: "partner.person_joined", subject: place.partner.public_id } as const;
		return noteAudit(trx, { ...note, detail: email }, nowMs);
	}
	const note = { personId, programmeId: place?.programme.id ?? null, action: "person.joined" } as const;
	await noteAudit(trx, { ...note, subject: email, detail: place?.role ?? null }, nowMs);
}

const ONLY_STAFF_ADD_TO_PARTNER =
	"You belong to a programme that this partner brings sales to, or you are invited to one. Only the network's staff can add you to the partner, because nobody may decide about a commission of their own.";
const ONLY_STAFF_ADD_TO_PROGRAMME =
	"You sign in for a partner of this programme. Only the network's staff can add you to the programme, because nobody may decide about a commission of their own.";

/**
 * Returns why the invited person cannot accept the invitation, or null if they can. Nobody may both sign in for a
 * partner and have a role in one of its programmes, where they could decide about its sales, unless staff
 * have added them.
 */
async function whyOnlyStaffAdd(trx: Db, opened: OpenedSignInLink): Promise<string | null> {
	if (opened.kind !== "offer") return null;
	const { place, person, email } = opened;
	if (place.kind === "partner") {
		const hasRole = person !== null && (await hasRoleInProgrammeOf(trx, place.partner.id, person.id));
		const mayDecide = hasRole || (await isInvitedToProgrammeOf(trx, place.partner.id, email));
		return mayDecide ? ONLY_STAFF_ADD_TO_PARTNER : null;
	}
	const isPaid = person !== null && (await signsInForPartnerOf(trx, place.programme.id, person.id));
	return isPaid ? ONLY_STAFF_ADD_TO_PROGRAMME : null;
}

/**
 * Returns whether the first-start link may use this address. The link may create an account, or complete one that
 * `user create` made for staff. It never takes over any other account.
 */
async function mayBecomeFirst(trx: Db, email: string): Promise<boolean> {
	const person = await findPersonByEmail(trx, email);
	return person === undefined || (person.kind === "staff" && !(await hasPassword(trx, person.id)));
}
