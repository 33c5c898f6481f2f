// Faults of the APIs of the network and of partners, whose callers send a token. They are part of the catalogue in
// fault-catalogue.ts. Most faults about values occur on pages, too, because a call runs the same use case as its
// page. The use case then writes the sentence, and the sentence in this file is only an example.

import type { ExplainedFault } from "./explained-fault.ts";

export const TOKEN_FAULTS = {
	/** Faults of token calls that fail authentication, in the order of the checks. */
	token: {
		missing_token: {
			status: 401,
			meaning: "There is no API token.",
			detail: "Send an API token in the header Authorization: Bearer <API token>.",
		},
		unknown_token: {
			status: 401,
			meaning: "This API token is not known.",
			detail: "This API token is not known here. Check that it was copied whole, or issue a new one.",
		},
		revoked_token: {
			status: 401,
			meaning: "This API token was revoked.",
			detail:
				"This API token was revoked, by a person or because the access of its issuer ended. Issue a new one.",
		},
		expired_token: {
			status: 401,
			meaning: "This API token has expired.",
			detail: "This API token has expired. Issue a new one.",
		},
		wrong_token: {
			status: 403,
			meaning: "This API token does not have the right that the call needs.",
			detail:
				"This call needs a token {needed:of the network that may change everything}, and this one {granted:reads everything}. Use another token.",
		},
	},
	"token rate": {
		too_many_calls: {
			status: 429,
			meaning:
				"More calls came with a token of the network, or with all tokens of a partner, than the limit allows.",
			detail:
				"More calls came with {owner:this token} than the limit of {perSecond:100} a second allows. Send this one again after the time in Retry-After.",
		},
	},
	payments: {
		payments_not_compared: {
			status: 409,
			meaning: "The database was restored, and payments since the backup are not known yet.",
			detail:
				"The database was restored, and payments that were recorded after {since:2026-03-01 02:30:00 UTC} are not known here. What is to be paid is answered again when staff have compared the payments with the bank and confirmed that under Statements.",
		},
	},
	reference: {
		reference_used: {
			status: 409,
			meaning: "The reference was used before, with other values.",
			detail:
				"The reference {reference:shop-17} was used before, with other values, and nothing was changed. Send the same values again, or another reference.",
			field: "reference",
		},
	},
	precondition: {
		precondition_failed: {
			status: 412,
			meaning: "If-Match does not name the present version of the resource.",
			detail:
				"If-Match does not name the present version, so nothing was changed. Read the resource again, and repeat the call with its ETag.",
		},
	},
	/** Faults of calls about a resource that does not exist or belongs to somebody else. */
	resource: {
		unknown_programme: {
			status: 404,
			meaning: "There is no such programme.",
			detail: "There is no programme {id:prg_01JEXAMPLE0000000000000000}. Check the ID: it starts with prg_.",
		},
		unknown_partner: {
			status: 404,
			meaning: "There is no such partner or partnership.",
			detail: "There is no partner {id:ptn_01JEXAMPLE0000000000000000}. Check the ID: it starts with ptn_.",
		},
		unknown_key: {
			status: 404,
			meaning: "The programme has no such usable API key.",
			detail:
				"There is no usable key {id:key_01JEXAMPLE0000000000000000}. Check the ID. The key may have been revoked already.",
		},
		unknown_statement: {
			status: 404,
			meaning: "There is no such statement.",
			detail: "There is no statement {id:stm_01JEXAMPLE0000000000000000}. Check the ID: it starts with stm_.",
		},
	},
	value: {
		invalid_name: {
			status: 422,
			meaning: "A name is missing or too long, or has characters that cannot be seen.",
			detail: "Enter the programme's name, in at most 200 characters.",
			field: "name",
		},
		invalid_rate: {
			status: 422,
			meaning: "A percentage is not a number from 0 to 100 with at most four decimals.",
			detail: "commission must be a percentage from 0 to 100 with at most four decimals, such as 7.5.",
			field: "commission",
		},
		invalid_days: {
			status: 422,
			meaning: "A number of days is outside its limits.",
			detail: "The approval window is a whole number of days from 0 to 3,650.",
			field: "approvalDays",
		},
		invalid_email: {
			status: 422,
			meaning: "The email address is not valid.",
			detail: "Enter an email address such as name@shop.example.",
			field: "email",
		},
		unknown_role: {
			status: 422,
			meaning: "There is no such role.",
			detail: "The role must be one of owner, developer, viewer.",
			field: "role",
		},
		foreign_target: {
			status: 422,
			meaning: "The link's target is not at one of the shop's confirmed addresses.",
			detail:
				"Enter an address of the shop, without a port. It must begin with https:// and one of these hosts: shop.example.",
			field: "target",
		},
		not_allowed: {
			status: 403,
			meaning: "The person who issued the token may not do this.",
			detail: "Only an owner can issue a key that approves and rejects.",
			field: "right",
		},
		email_taken: {
			status: 409,
			meaning: "The email address belongs to somebody who cannot be added here.",
			detail:
				"anna@network.example is one of the network's staff, and staff cannot own a programme. Use another address.",
			field: "email",
		},
		too_many_keys: {
			status: 409,
			meaning: "The programme has the maximum number of API keys.",
			detail:
				"There are 50 keys in use, and no programme has more. Revoke one that is not needed any more, then issue the new one.",
		},
		already_partner: {
			status: 409,
			meaning: "The partner is in the programme already.",
			detail: "Blog is a partner of this programme already. Open the partnership to change it.",
		},
		wrong_status: {
			status: 409,
			meaning: "The programme or partner is archived, or cannot be archived yet.",
			detail: "The network archived the programme Shop. Its staff must resume it first.",
		},
		code_taken: {
			status: 409,
			meaning: "The coupon code or link code belongs to somebody else.",
			detail: "The code SUMMER belongs to Blog already. Remove it there first.",
			field: "codes",
		},
		partnership_ended: {
			status: 409,
			meaning: "The partnership has ended.",
			detail: "This partnership has ended. Ask the network's staff to resume it.",
		},
		too_many_links: {
			status: 409,
			meaning: "The partnership has the maximum number of links.",
			detail: "A partner has at most 500 links. Use sub IDs to tell placements apart.",
		},
		too_many_attempts: {
			status: 429,
			meaning: "Too many mails were sent within an hour.",
			detail:
				"Several mails were sent to this address within an hour. Check the inbox and the spam folder, or try again in 12 minutes.",
		},
	},
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExplainedFault>>>>;
