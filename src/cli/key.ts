// `ringback key issue`.

import { issueKey } from "../accounts/keys.ts";
import { type Command, EXIT, JSON_OPTION, sayFault } from "./command.ts";
import { withWorkplace } from "./with-workplace.ts";

export const keyIssueCommand: Command = {
	name: "key issue",
	summary:
		"Issues an API key. The programme's first key brings its signing secret; both are shown this once.",
	options: {
		programme: { type: "string", value: "ID", help: "the programme's id, prg_…", isRequired: true },
		json: JSON_OPTION,
	},
	run: (options, screen) =>
		withWorkplace(screen, async (workplace) => {
			const asJson = options.flag("json");
			const issued = await issueKey(workplace, options.text("programme"));
			if (!issued.ok) return sayFault(screen, issued.fault, asJson);
			const { keyId, key, secret } = issued.value;
			if (asJson) {
				screen.out(JSON.stringify({ id: keyId, key, secret }));
				return EXIT.ok;
			}
			screen.out(`API key         ${key}   (${keyId})`);
			if (secret === null) screen.out("Signing secret  as before: it came with the first key");
			else screen.out(`Signing secret  ${secret}`);
			screen.out("They are not shown again: keep them where your shop keeps its passwords.");
			return EXIT.ok;
		}),
};
