import type { Module } from "../../module.ts";

export const TOKEN_API: Module = { name: "token-api" };
