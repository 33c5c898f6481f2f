// What people choose for themselves: how times are written for them, and which mails they get.

import type { NoticeKind } from "./notice.ts";

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
export type DateLocale = keyof typeof DATE_LOCALES;

export function isDateLocale(text: string): text is DateLocale {
	return Object.hasOwn(DATE_LOCALES, text);
}

/**
 * Mails that can be switched off. All others stay on: what somebody asked for (links), and what may be the only sign that
 * an account or a programme is in somebody else's hands (changes to either).
 */
export type MailKind = NoticeKind;
export const MAIL_KINDS = [
	"callbacks_failing",
	"callbacks_working_again",
] as const satisfies readonly MailKind[];
