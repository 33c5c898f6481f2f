// The command that shows a developer the first callback. It runs `ringback listen` with the values of the programme or
// partner. The Integration page, the Callbacks page of partners and the guide show the same command.

import { DEFAULT_BRAND } from "../domain/network.ts";
import { downloadUrl } from "./downloads.ts";

export const API_KEY_VARIABLE = "RINGBACK_API_KEY";
const TOKEN_VARIABLE = "RINGBACK_TOKEN";
export const SECRET_VARIABLE = "RINGBACK_SIGNING_SECRET";

export interface ShownOnce {
	key: string;
	secret: string;
}

export function listenCommand(
	publicUrl: string,
	brand: string,
	{ key, secret }: ShownOnce = { key: "rbk_…", secret: "rbs_…" },
): string {
	return commandWith(publicUrl, brand, [`${API_KEY_VARIABLE}=${key}`, `${SECRET_VARIABLE}=${secret}`]);
}

/** Returns the command of a partner. It contains the secret if one was just made. */
export function partnerListenCommand(publicUrl: string, brand: string, secret = "rbs_…"): string {
	return commandWith(publicUrl, brand, [`${TOKEN_VARIABLE}=rbp_…`, `${SECRET_VARIABLE}=${secret}`]);
}

function commandWith(publicUrl: string, brand: string, credentials: readonly string[]): string {
	return [
		`RINGBACK_URL=${publicUrl}`,
		...(brand === DEFAULT_BRAND ? [] : [`RINGBACK_BRAND=${brand}`]),
		...credentials,
		// Without --yes, npx would ask before it installs the package.
		`npx --yes -p ${downloadUrl(publicUrl)} ringback listen`,
	].join(" \\\n");
}
