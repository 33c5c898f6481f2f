// What people change about themselves: name, how times are written for them, which mails they get; and their e-mail
// address, which changes when whoever has the new mailbox opens the link that was sent there.

import { readName } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { MailKind } from "../domain/notice.ts";
import { isTimeZone } from "../domain/zone-day.ts";
import { composeAddressMail, composeLeftAddressMail } from "../mail/letters.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonByEmail, type Person, updatePerson } from "../store/queries/people.ts";
import { updateSignIn } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import { type SignedInPerson, transactAs } from "./actor.ts";
import type { SignInDeps, Visitor } from "./auth.ts";
import type { AccountsDeps } from "./deps.ts";
import type { InvitationsDeps } from "./invitations.ts";
import { LIMITS, useLimits } from "./limits.ts";
import { checkPassword } from "./passwords.ts";
import { parseEmail } from "./people.ts";
import { issueSignInLink } from "./sign-in-links.ts";

/** Languages that dates can be written in, with how each is called by those who speak it. */
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
	/** Empty: the browser's own. */
	zone: string;
	locale: string;
	mails: readonly MailKind[];
}

/** False when all was as it is. */
export async function saveOwnSettings(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	maker: SignedInPerson,
	before: Person,
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
	const after = {
		name: name.value,
		zone: input.zone === "" ? null : input.zone,
		locale: input.locale === "" ? null : input.locale,
		mails_callbacks_failing: input.mails.includes("callbacks_failing") ? 1 : 0,
		mails_callbacks_working_again: input.mails.includes("callbacks_working_again") ? 1 : 0,
	} as const;
	const changed = (Object.keys(after) as (keyof typeof after)[]).filter((key) => before[key] !== after[key]);
	if (changed.length === 0) return succeed(false);
	return transactAs(store, maker, async (trx) => {
		const nowMs = clock.nowMs();
		await updatePerson(trx, before.id, after);
		await updateSignIn(trx, before.public_id, { name: after.name }, nowMs);
		const note = { personId: before.id, action: "account.changed", subject: before.email } as const;
		await noteAudit(trx, { ...note, detail: changed.join(", ").replaceAll("_", " ") }, nowMs);
		return succeed(true);
	});
}

/**
 * Nothing changes until the link is opened. An address that somebody has already is answered like any other, and sent
 * nothing: who has an account is nobody's business.
 */
export async function askForAddress(
	deps: SignInDeps & Pick<InvitationsDeps, "mails">,
	maker: SignedInPerson,
	self: Person,
	{ email: text, currentPassword }: { email: string; currentPassword: string },
	visitor: Visitor,
): Promise<Result<string>> {
	const parsed = parseEmail(text);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	if (email === self.email) return refuse("email_taken", "This is your address already.", "email");
	if (!deps.mails.isOn) {
		return refuse("not_allowed", "This service cannot send mail, so a new address cannot be confirmed.");
	}
	const given = await checkPassword(deps, self.email, currentPassword, visitor);
	if (!given.ok) return given;
	const uses = [{ limit: LIMITS.mailsTo, subject: `new address: ${email}` }];
	const tooMany = await useLimits(deps.store.db, uses, deps.clock.nowMs());
	if (tooMany !== null) return tooMany;
	const asked = await transactAs(deps.store, maker, async (trx) => {
		const order = { purpose: "address_mail", personId: self.id, email, madeBy: self.id } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		const isWithheld = (await findPersonByEmail(trx, email)) !== undefined;
		await deps.mails.enqueue(trx, { ...composeAddressMail(email, self.email, link), isWithheld });
		const { address } = visitor;
		const note = { personId: self.id, action: "address.asked", subject: self.email, address } as const;
		await noteAudit(trx, { ...note, detail: email }, deps.clock.nowMs());
		return succeed(email);
	});
	deps.mails.wake();
	return asked;
}

/** In the transaction that uses the link. Told at the old address, too: it is the one that somebody may have lost. */
export async function changeAddress(
	trx: Db,
	{ mails }: Pick<InvitationsDeps, "mails">,
	person: Person,
	email: string,
	{ nowMs, address }: { nowMs: number; address: string | null },
): Promise<Person> {
	await updatePerson(trx, person.id, { email });
	await updateSignIn(trx, person.public_id, { email }, nowMs);
	await mails.enqueue(trx, composeLeftAddressMail(person.email, email));
	const note = { personId: person.id, action: "address.changed", subject: email } as const;
	await noteAudit(trx, { ...note, detail: `${person.email} → ${email}`, address }, nowMs);
	return { ...person, email };
}
