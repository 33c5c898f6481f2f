// The environment of the browser tests: the service on a SQLite file, a real HTTPS shop and a real mail server.

import { startMailServer } from "../support/mail-server.ts";
import { assertNoErrors, openService, type Settings } from "../support/open-service.ts";
import "../support/quick-passwords.ts";
import { startShop } from "../support/shop.ts";

export type Setup = Awaited<ReturnType<typeof openSetup>>;

export interface SetupOptions {
	/** Settings of the service, as environment variables. */
	settings?: Settings;
}

export async function openSetup({ settings = {} }: SetupOptions = {}) {
	const shop = await startShop();
	const mail = await startMailServer(Date.now);
	const { service, log, close } = await openService({
		trustedCa: shop.caPem,
		settings: { SMTP_URL: mail.url, MAIL_FROM: "Ringback <ringback@network.example>", ...settings },
	});
	return {
		service,
		shop,
		mail,
		log,
		/** Closes everything, and fails if the service logged an error. */
		async close() {
			await close();
			await shop.close();
			await mail.goAway();
			assertNoErrors(log);
		},
	};
}
