// Settings that people change for themselves: name, time zone, language of dates, mails, and email address. A
// new address takes effect when the person opens the link that was mailed to it.

import { readName } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { MailKind } from "../domain/notice.ts";
import { SALE_MAILS } from "../domain/notice.ts";
import { isTimeZone } from "../domain/zone-day.ts";
import { composeAddressMail, composeLeftAddressMail } from "../mail/letters.ts";
import type { Locked } from "../store/locked.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonByEmail, lockPerson, type Person, updatePerson } from "../store/queries/people.ts";
import type { Db } from "../store/store.ts";
import { SIGNED_IN, type SignedInPerson, transactAs } from "./actor.ts";
import type { SignInDeps, Visitor } from "./auth.ts";
import type { AccountsDeps } from "./deps.ts";
import type { InvitationsDeps } from "./invitations.ts";
import { LIMITS, useLimits } from "./limits.ts";
import { checkPassword } from "./passwords.ts";
import { parseEmail } from "./people.ts";
import { issueSignInLink } from "./sign-in-links.ts";

/** Languages in which dates can be written, each by the name that its speakers use. */
export const DATE_LOCALES = {
	"en-GB": "English (UK)",
	"en-US": "English (US)",
	"de-DE": "Deutsch",
	"es-ES": "Español",
	"fr-FR": "Français",
	"it-IT": "Italiano",
	"nl-NL": "Nederlands",
	"pl-PL": "Polski",
	"pt-PT": "Português",
	"sv-SE": "Svenska",
} as const;

export interface SettingsInput {
	name: string;
	/** Time zone of the person. If it is empty, pages use the browser's time zone. */
	zone: string;
	locale: string;
	/** Whether each kind of mail in the form is wanted. Kinds that the form did not offer stay unchanged. */
	mails: Readonly<Partial<Record<MailKind, boolean>>>;
	/** Mails that a partner's person wants about sales, or undefined if the form did not offer them. */
	sales?: string | undefined;
}

/** Saves the actor's own settings. Returns false if every setting already had its new value. */
export async function saveOwnSettings(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: SignedInPerson,
	input: SettingsInput,
): Promise<Result<boolean>> {
	const name = readName(input.name, "your");
	if (!name.ok) return name;
	if (input.zone !== "" && !isTimeZone(input.zone)) {
		return refuse("invalid_field", "There is no such time zone. Choose one from the list.", "zone");
	}
	if (input.locale !== "" && !Object.hasOwn(DATE_LOCALES, input.locale)) {
		return refuse(
			"invalid_field",
			"Dates and numbers cannot be written in this language. Choose one from the list.",
			"locale",
		);
	}
	const sales = SALE_MAILS.find((choice) => choice === input.sales);
	if (input.sales !== undefined && sales === undefined) {
		return refuse("invalid_field", "Choose which mails about sales you want.", "sales");
	}
	return transactAs(store, actor, SIGNED_IN, async (trx) => {
		const person = await lockPerson(trx, "id", actor.personId);
		if (person === undefined) throw new Error("a session without a person");
		const wanted = {
			name: name.value,
			zone: input.zone === "" ? null : input.zone,
			locale: input.locale === "" ? null : input.locale,
			mails_callbacks_failing: mailColumn(person, input, "callbacks_failing"),
			mails_callbacks_working_again: mailColumn(person, input, "callbacks_working_again"),
			mails_decisions_waiting: mailColumn(person, input, "decisions_waiting"),
			mails_sales: sales ?? person.mails_sales,
		} as const;
		const columns = Object.keys(wanted) as (keyof typeof wanted)[];
		const changed = columns.filter((column) => person[column] !== wanted[column]);
		if (changed.length === 0) return succeed(false);
		await updatePerson(trx, person, wanted);
		const note = { personId: person.id, action: "account.changed", subject: person.email } as const;
		const detail = changed.join(", ").replaceAll("_", " ");
		await noteAudit(trx, { ...note, detail }, clock.nowMs());
		return succeed(true);
	});
}

function mailColumn(person: Person, { mails }: SettingsInput, kind: MailKind): 0 | 1 {
	const isWanted = mails[kind];
	if (isWanted === undefined) return person[`mails_${kind}`];
	return isWanted ? 1 : 0;
}

/**
 * Mails a link to the new address. The old address stays until the link is opened. If the new address already has an
 * account, no mail is sent and the answer is the same, so that nobody learns who has an account.
 */
export async function askForAddress(
	deps: SignInDeps & Pick<InvitationsDeps, "mails">,
	actor: SignedInPerson,
	presentEmail: string,
	{ email: text, currentPassword }: { email: string; currentPassword: string },
	visitor: Visitor,
): Promise<Result<string>> {
	const parsed = parseEmail(text);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	if (email === presentEmail) return refuse("email_taken", "This is your address already.", "email");
	if (!deps.mails.isOn) {
		return refuse("not_allowed", "This service cannot send mail, so a new address cannot be confirmed.");
	}
	const checked = await checkPassword(deps, presentEmail, currentPassword, visitor);
	if (!checked.ok) return checked;
	const uses = [{ limit: LIMITS.mailsTo, subject: `new address: ${email}` }];
	const tooMany = await useLimits(deps.store.db, uses, deps.clock.nowMs());
	if (tooMany !== null) return tooMany;
	const asked = await transactAs(deps.store, actor, SIGNED_IN, async (trx) => {
		const { personId } = actor;
		const order = { purpose: "address_mail", personId, email, madeBy: personId } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		const isWithheld = (await findPersonByEmail(trx, email)) !== undefined;
		await deps.mails.enqueue(trx, { ...composeAddressMail(email, presentEmail, link), isWithheld });
		const { address } = visitor;
		const note = { personId, action: "address.asked", subject: presentEmail, address } as const;
		await noteAudit(trx, { ...note, detail: email }, deps.clock.nowMs());
		return succeed(email);
	});
	deps.mails.wake();
	return asked;
}

/**
 * Changes the email address, in the transaction that uses up the link. The old address gets a mail too, in
 * case a stranger requested the change.
 */
export async function changeAddress(
	trx: Db,
	{ mails }: Pick<InvitationsDeps, "mails">,
	person: Locked<Person>,
	email: string,
	{ nowMs, address }: { nowMs: number; address: string | null },
): Promise<Person> {
	await updatePerson(trx, person, { email });
	await mails.enqueue(trx, composeLeftAddressMail(person.email, email));
	const note = { personId: person.id, action: "address.changed", subject: email } as const;
	await noteAudit(trx, { ...note, detail: `${person.email} → ${email}`, address }, nowMs);
	return { ...person, email };
}
