// Opens a programme with its terms and its owner in one step. On a page, the owner is invited now or later. On the
// command line, the owner must already have an account. An import creates the owner's account and sends no mail.

import {
	type Checked,
	checkAll,
	listFaults,
	type Result,
	refuse,
	refuseAll,
	succeed,
} from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { currencyDigits } from "../domain/money.ts";
import { COMMAND_LINE, type PersonActor, STAFF, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { admit, findOrCreateInvitee, type InvitationsDeps, type SentLink } from "../people/invitations.ts";
import { mailUseOf, useLimits } from "../people/limits.ts";
import { parseEmail } from "../people/people.ts";
import type { Locked } from "../store/locked.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { storeSample } from "../store/queries/network.ts";
import { lockPerson, type Person } from "../store/queries/people.ts";
import { addToProgramme } from "../store/queries/programme-people.ts";
import {
	findFirstProgramme,
	insertProgramme,
	lockProgramme,
	type Programme,
} from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { type IssuedKey, insertKey } from "./keys.ts";
import {
	DEFAULT_APPROVAL_DAYS,
	parseTerms,
	rowOfTerms,
	sayAllRates,
	type Terms,
	type TermsInput,
} from "./programme-terms.ts";

type ProgrammesDeps = Pick<AccountsDeps, "store" | "clock" | "random">;

export interface OpeningInput<Email extends string | null = string | null> extends TermsInput {
	/**
	 * The owner's email address, or null if the owner is invited later. Until then the network's staff look
	 * after the programme.
	 */
	ownerEmail: Email;
	currency: string;
	/** Public id, which is chosen when the form is opened, so that a form that is sent twice creates one programme. */
	publicId?: string | undefined;
}

export interface OpenedProgramme {
	programme: Programme;
	/** Invitation that the owner got, or null if nobody was mailed or there is no owner yet. */
	owner: SentLink | null;
}

export type OwnerWay =
	| Inviter
	/** On the command line, the owner must already have an account. */
	| { kind: "known" }
	/**
	 * An import creates an account if the owner has none. `personId` is the person who imports, or null if the import
	 * runs on the command line.
	 */
	| { kind: "imported"; personId: number | null };

/** On a page or by the API, a person invites the owner. This includes what is needed to send the invitation. */
export interface Inviter extends Pick<InvitationsDeps, "mails" | "publicUrl"> {
	kind: "invited";
	actor: PersonActor;
}

export async function openProgramme(
	deps: ProgrammesDeps,
	way: OwnerWay,
	input: OpeningInput,
): Promise<Checked<OpenedProgramme>> {
	const parsed = parseOpening(input);
	if (!parsed.ok) return parsed;
	const actor = way.kind === "invited" ? way.actor : COMMAND_LINE;
	const nowMs = deps.clock.nowMs();
	// Only the number of mails that the actor sends is limited here. The number of mails to the owner's address
	// is not, because the owner of ten new programmes must get ten mails.
	if (actor.kind !== "command line" && parsed.value.email !== null) {
		const tooMany = await useLimits(deps.store.db, [mailUseOf(actor)], nowMs);
		if (tooMany !== null) return refuseAll([{ ...tooMany.fault, field: "email" }]);
	}
	// Everything is one transaction, so that no programme is stored if its owner cannot be invited.
	const opened = await transactAs(deps.store, actor, STAFF, (trx) =>
		insertOpened(trx, deps, way, { ...parsed.value, publicId: input.publicId }),
	);
	if (way.kind === "invited") way.mails.wake();
	return listFaults(opened);
}

/**
 * Stores a programme and its owner. It must run in `transactAs`, or in a transaction that holds the access
 * lock.
 */
export async function insertOpened(
	trx: Db,
	deps: Omit<ProgrammesDeps, "store">,
	way: OwnerWay,
	{ terms, currency, email, publicId }: ParsedOpening & Pick<OpeningInput, "publicId">,
): Promise<Result<OpenedProgramme>> {
	const owner = email === null ? succeed(null) : await findOrMakeOwner(trx, deps, way, email);
	if (!owner.ok) return owner;
	const nowMs = deps.clock.nowMs();
	const programme = await insertProgramme(trx, {
		public_id: publicId ?? makeId("prg", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
		currency,
		created_at_ms: nowMs,
		...rowOfTerms(terms, currency),
	});
	const note = { personId: openerOf(way), programmeId: programme.id, subject: programme.public_id } as const;
	const detail = `commission: ${sayAllRates(terms, currency)}`;
	await noteAudit(trx, { ...note, action: "programme.created", detail }, nowMs);
	const invited = owner.value === null ? null : await giveOwner(trx, deps, way, owner.value, programme);
	return succeed({ programme, owner: invited });
}

function openerOf(way: OwnerWay): number | null {
	switch (way.kind) {
		case "invited":
			return way.actor.personId;
		case "imported":
			return way.personId;
		case "known":
			return null;
		default:
			return way satisfies never;
	}
}

export interface ParsedOpening<Email extends string | null = string | null> {
	terms: Terms;
	currency: string;
	email: Email;
}

/** Checks everything that can be checked without the database. */
export function parseOpening<Email extends string | null>(
	input: OpeningInput<Email>,
): Checked<ParsedOpening<Email>> {
	const currency = input.currency.trim().toUpperCase();
	const digits = currencyDigits(currency);
	// If the currency is unknown, the amounts are not checked, because each of them would be refused for the same reason.
	const checkable = digits.ok ? input : { ...input, commissionFixed: "", feeFixed: "", eventRates: "" };
	// The cast is safe, because the result is null exactly if the input is null.
	const email = (input.ownerEmail === null ? succeed(null) : parseEmail(input.ownerEmail)) as Result<Email>;
	return checkAll<ParsedOpening<Email>>({
		terms: parseTerms(checkable, currency),
		currency: digits.ok ? succeed(currency) : digits,
		email,
	});
}

export function staffCannotOwn(email: string): string {
	return `${email} is one of the network's staff, and staff cannot own a programme. Use another address.`;
}

/**
 * Returns the owner's account. If there is none, it is created, except on the command line, where an address without
 * an account is probably mistyped.
 */
async function findOrMakeOwner(
	trx: Db,
	deps: Omit<ProgrammesDeps, "store">,
	way: OwnerWay,
	email: string,
): Promise<Result<Locked<Person>>> {
	const existing = await lockPerson(trx, "email", email);
	if (existing?.kind === "shop") return succeed(existing);
	if (existing !== undefined) return refuse("email_taken", staffCannotOwn(email), "email");
	if (way.kind !== "known") return findOrCreateInvitee(trx, deps, email, "shop");
	const cure = `Create it first: ringback user create --email ${email} --kind shop`;
	return refuse("unknown_person", `There is no account with the email ${email}. ${cure}`, "owner");
}

/**
 * Makes the person the owner of the programme. A link to sign in is created only if the owner is invited on a page.
 * On the command line, a new link would invalidate the link that `user create` gave to the owner.
 */
async function giveOwner(
	trx: Db,
	deps: Omit<ProgrammesDeps, "store">,
	way: OwnerWay,
	owner: Locked<Person>,
	programme: Programme,
): Promise<SentLink | null> {
	if (way.kind === "invited") {
		const place = { kind: "programme", programme, role: "owner" } as const;
		return admit(trx, { ...deps, ...way }, owner, place, way.actor);
	}
	await addToProgramme(trx, programme.id, owner.id, "owner");
	const note =
		way.kind === "imported"
			? ({ action: "person.imported", personId: way.personId } as const)
			: ({ action: "person.invited", personId: null } as const);
	const about = { programmeId: programme.id, subject: owner.email, detail: "owner" };
	await noteAudit(trx, { ...note, ...about }, deps.clock.nowMs());
	return null;
}

const SAMPLE_CURRENCY = "EUR";
const SAMPLE_TERMS = {
	name: "Sample shop",
	commissionRate: "10",
	feeRate: "2",
	approvalDays: DEFAULT_APPROVAL_DAYS,
	parksPixels: true,
} as const;

export interface SampleProgramme {
	programme: Programme;
	issued: IssuedKey;
}

/**
 * Opens a programme with default terms and an API key but without an owner, so that staff can try everything before
 * the first shop signs up. The programme can be renamed and used like any other, but its secret does not fix the
 * brand. Resolves to null if any programme already exists.
 */
export async function openSampleProgramme(
	deps: AccountsDeps,
	inviter: Inviter,
): Promise<Result<SampleProgramme | null>> {
	const terms = parseTerms(SAMPLE_TERMS, SAMPLE_CURRENCY);
	if (!terms.ok) return terms;
	// The transaction holds a lock. If two people open the sample programme at once, the second one finds the
	// programme of the first.
	return transactAs<SampleProgramme | null>(deps.store, inviter.actor, STAFF, async (trx) => {
		if ((await findFirstProgramme(trx)) !== undefined) return succeed(null);
		const opening = { terms: terms.value, currency: SAMPLE_CURRENCY, email: null } as const;
		const opened = await insertOpened(trx, deps, inviter, opening);
		if (!opened.ok) return opened;
		const { programme } = opened.value;
		await storeSample(trx, programme);
		const { personId } = inviter.actor;
		const locked = await lockProgramme(trx, programme.id);
		if (locked === undefined) throw new Error("a programme that this transaction inserted is missing");
		const change = { trx, programme: locked, personId, authority: "staff" } as const;
		const issued = await insertKey(deps, { ...change, nowMs: deps.clock.nowMs() }, null, "");
		return issued.ok ? succeed({ programme, issued: issued.value }) : issued;
	});
}
