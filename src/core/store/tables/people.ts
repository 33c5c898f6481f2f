import type { Generated } from "kysely";
import type { SaleMails } from "../../domain/notice.ts";
import type { PersonKind, ProgrammeRole } from "../../domain/roles.ts";

export interface PeopleTable {
	id: Generated<number>;
	public_id: string;
	/** Email address in lower case, which is unique. */
	email: string;
	kind: PersonKind;
	created_at_ms: number;
	/** Name of the person, which is empty until they have accepted their invitation. */
	name: Generated<string>;
	/** IANA name of a time zone, or null to use the browser's time zone. */
	zone: string | null;
	/**
	 * Language of dates and numbers, one of DATE_LOCALES in people/own-settings, or null to use the browser's language.
	 */
	locale: string | null;
	/** Whether the person wants mails about failing callbacks. */
	mails_callbacks_failing: Generated<0 | 1>;
	mails_callbacks_working_again: Generated<0 | 1>;
	mails_decisions_waiting: Generated<0 | 1>;
	/** Mails about sales that a person wants who signs in for a partner. For other people it has no effect. */
	mails_sales: Generated<SaleMails>;
	deactivated_at_ms: number | null;
	/** Time at which the person was erased, or null. Their email is then "erased person" with their public id. */
	erased_at_ms: Generated<number | null>;
}

/** Passwords have a table of their own, so that reading a person never loads the hash. */
export interface PasswordsTable {
	person_id: number;
	/** Hash of the password, as text in the form of domain/password-hash. */
	hash: string;
	changed_at_ms: number;
}

export interface SessionsTable {
	id: string;
	/** SHA-256 of the token. The token itself is only in the browser's cookie. */
	token_hash: string;
	person_id: number;
	/** Time at which the person signed in. It does not change when the session gets a new id and token. */
	created_at_ms: number;
	last_used_at_ms: number;
	expires_at_ms: number;
	address: string;
	user_agent: string;
}

/** Each row is a sign-in with the right password that waits for an authenticator code. */
export interface SignInChallengesTable {
	/** SHA-256 of the token in the browser's cookie. */
	token_hash: string;
	person_id: number;
	expires_at_ms: number;
}

export interface AuthenticatorsTable {
	person_id: number;
	/** The shared secret in hexadecimal, encrypted. */
	secret: string;
	/** The unused backup codes as a JSON array, encrypted. */
	backup_codes: string;
	/**
	 * Time at which the person turned the authenticator on by entering a valid code of their app, or null if they have
	 * not yet.
	 */
	turned_on_at_ms: number | null;
}

/** Each row is an authenticator code that was used. A code is valid for 90 seconds and for one use. */
export interface SpentCodesTable {
	person_id: number;
	code_hash: string;
	expires_at_ms: number;
}

/** Each row is the number of uses of a rate limit within its window (people/limits). */
export interface LimitCountsTable {
	/** Name of the limit and a hash of the subject that it counts for. */
	subject: string;
	uses: number;
	ends_at_ms: number;
}

/**
 * Purpose of a sign-in link. A password link that staff created and a password link that a person requested by mail
 * have different purposes. Anybody who knows an address can request such a mail, and the mail must not replace the
 * link that staff handed over. An operator's link is printed by `ringback user link`. With it, the person joins or
 * chooses a new password, and staff can sign in even if they must use the company's account.
 */
export type SignInLinkPurpose =
	| "first_staff"
	| "staff_invitation"
	| "programme_invitation"
	| "password_link"
	| "operator_link"
	| "password_mail"
	| "address_mail";

/** The person whose access ended and thereby ended a link: its creator ("maker") or its recipient. */
export type Withdrawal = "with_maker" | "with_recipient";

/**
 * Each row is a one-time link with which a person signs in, or chooses a password without knowing the present one.
 * The row is deleted when its link is used, or when a new link with the same purpose for the same person or address
 * replaces it.
 */
export interface SignInLinksTable {
	id: Generated<number>;
	public_id: string;
	purpose: SignInLinkPurpose;
	/** SHA-256 of the token. The token itself is only in the link. */
	token_hash: string;
	/**
	 * Person who gets the link. Null for the link of the first start, and for an invitation by an owner or by a
	 * partner's people, which is sent to an email address.
	 */
	person_id: number | null;
	/**
	 * Email address to which an owner or a partner's people sent an invitation, or the new email address that a
	 * person wants for their account. Such an invitation names no person, because its sender must not learn whether
	 * the address has an account.
	 */
	email: string | null;
	programme_id: number | null;
	/** Partner to which the partner's people invite the address. Null for every other link. */
	partner_id: number | null;
	/** Role that an owner's invitation gives. Null for every other link. */
	role: ProgrammeRole | null;
	/**
	 * Person who created the link. Null for the command line, the first start, or a recipient who requested the link by
	 * mail.
	 */
	made_by: number | null;
	created_at_ms: number;
	expires_at_ms: number;
	/**
	 * Reason why the link was withdrawn, or null while the link works. Withdrawn invitations stay on the list, so that
	 * they can be sent again.
	 */
	withdrawn: Withdrawal | null;
}

/** This table has a single row, whose lock is the access lock (queries/sign-in-links). */
export interface AccessLockTable {
	id: number;
}
