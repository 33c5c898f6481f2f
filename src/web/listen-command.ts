// The one line that shows a developer the first callback: it runs `ringback listen` with the programme's values. The same
// words on Integration and in the guide.

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
		// Without a question whether it may be fetched: where there is no terminal, nobody could answer it.
		`npx --yes -p ${downloadUrl(publicUrl)} ringback listen`,
	].join(" \\\n");
}
