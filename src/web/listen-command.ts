// The command that shows a developer the first callback. It runs `ringback listen` with the programme's
// values. The Integration page and the guide show the same command.

import { DEFAULT_BRAND } from "../domain/network.ts";
import { downloadUrl } from "./downloads.ts";

export const API_KEY_VARIABLE = "RINGBACK_API_KEY";
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
	return [
		`RINGBACK_URL=${publicUrl}`,
		...(brand === DEFAULT_BRAND ? [] : [`RINGBACK_BRAND=${brand}`]),
		`${API_KEY_VARIABLE}=${key}`,
		`${SECRET_VARIABLE}=${secret}`,
		// Without --yes, npx would ask before it installs the package.
		`npx --yes -p ${downloadUrl(publicUrl)} ringback listen`,
	].join(" \\\n");
}
