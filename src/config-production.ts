// What a service for real shops must have, and must not: RINGBACK_ENV=production makes it a condition of starting.

import { POSTGRES_EXAMPLE } from "./config-database.ts";
import type { SettingReader } from "./config-reader.ts";

const IN_PRODUCTION = "with RINGBACK_ENV=production";

export interface ProductionValues {
	publicUrl: string | null;
	smtpUrl: string | null;
	mailFrom: string | null;
	allowedPrivateRanges: readonly unknown[];
}

/** A value that is there and wrong has been complained about. */
export function requireForProduction(reader: SettingReader, values: ProductionValues): void {
	const { publicUrl, smtpUrl, mailFrom, allowedPrivateRanges } = values;
	if (!reader.hasSecret("DATABASE_URL")) {
		reader.problem(
			"DATABASE_URL",
			`is required ${IN_PRODUCTION}: ${POSTGRES_EXAMPLE}, or sqlite:PATH where a file on this machine is meant.`,
		);
	}
	if (reader.text("PUBLIC_URL") === undefined) {
		reader.problem("PUBLIC_URL", `is required ${IN_PRODUCTION}: the https: address that people open.`);
	} else if (publicUrl !== null && !publicUrl.startsWith("https:")) {
		reader.problem(
			"PUBLIC_URL",
			`must begin with https: ${IN_PRODUCTION}. Put a proxy with TLS in front: passwords, keys and secrets pass here.`,
		);
	}
	if (!reader.hasSecret("SMTP_URL")) {
		reader.problem(
			"SMTP_URL",
			`is required ${IN_PRODUCTION}: without mail nobody hears that callbacks fail, or that a password or a key was changed.`,
		);
	}
	if (mailFrom === null && smtpUrl === null) {
		reader.problem("MAIL_FROM", `is required ${IN_PRODUCTION}: the address that mails come from.`);
	}
	if (allowedPrivateRanges.length > 0) {
		reader.problem(
			"RINGBACK_ALLOWED_PRIVATE_RANGES",
			`must not be set ${IN_PRODUCTION}: any shop could make the service call machines of your own network.`,
		);
	}
}
