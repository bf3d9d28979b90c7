"""Signing in to a server by address: OAuth as the SDK does it, when the user asks for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from desktop_agent.core.mcp import McpGrant
from desktop_agent.core.pipes.mcp_pipe import FromMcpHost, GrantKept, ServerOpened, SignInAsked
from desktop_agent.mcp_host.oauth_bounds import Addresses, bound_answer, bound_request
from desktop_agent.mcp_host.redirect_page import RedirectPage

_LONGEST_TOKEN = 16_000
_SIGN_IN = "Its tools are there once you have signed in."
_NO_REGISTRATION = (
    "It registers no apps by itself. Register one with its provider, and enter its client ID under "
    "Change."
)
_MORE = "It wants to be allowed more than when you signed in."
# Stands in a registration that is never made: nobody signs in without a page.
_NO_PAGE = "http://127.0.0.1/callback"


class SignInNeeded(Exception):
    """The server refuses who has not signed in, and the user has not asked to."""


class SignIn(OAuthClientProvider):
    """Authorizes what is sent to one server; without a `page` nobody is asked anything.

    It is its own store of tokens. `refused` hears that the user has to sign in, or why that failed.
    """

    def __init__(
        self,
        opened: ServerOpened,
        page: RedirectPage | None,
        send: Callable[[FromMcpHost], None],
        refused: Callable[[str], None],
    ) -> None:
        self._id = opened.id
        self._grant = opened.grant or McpGrant(opened.url)
        self._addresses = Addresses(opened.url)
        self._client = (opened.client_id, opened.client_secret)
        self._page = page
        self._send = send
        self._refused = refused
        back = page.uri if page is not None else _NO_PAGE
        told = {"client_name": "Desktop Agent", "redirect_uris": [back]}
        metadata = OAuthClientMetadata.model_validate(told)
        super().__init__(opened.url, metadata, self, self._ask, self._answer)

    # -- the store of tokens -------------------------------------------------------------------

    async def get_tokens(self) -> OAuthToken | None:
        """Return what an earlier sign-in gave; one who signs in anew starts without."""
        grant = self._grant
        if self._page is not None or not grant.access_token:
            return None
        refresh, scope = grant.refresh_token or None, grant.scope or None
        return OAuthToken(access_token=grant.access_token, refresh_token=refresh, scope=scope)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Have them kept, with what a refresh needs."""
        for token in filter(None, (tokens.access_token, tokens.refresh_token)):
            if len(token) > _LONGEST_TOKEN or not (token.isascii() and token.isprintable()):
                raise OAuthFlowError("The authorization server gave a token that can't be used.")
        context = self.context
        client, metadata = context.client_info, context.oauth_metadata
        resource = context.protected_resource_metadata
        self._grant = McpGrant(
            context.server_url,
            tokens.access_token,
            tokens.refresh_token or "",
            tokens.scope or "",
            context.token_expiry_time or 0.0,
            (client.client_id if client is not None else ""),
            (client.client_secret if client is not None else None) or "",
            (client.token_endpoint_auth_method if client is not None else None) or "",
            str(metadata.issuer) if metadata is not None else "",
            str(metadata.authorization_endpoint) if metadata is not None else "",
            str(metadata.token_endpoint) if metadata is not None else "",
            str(resource.resource) if resource is not None else "",
        )
        self._send(GrantKept(self._id, self._grant))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return who we are to the authorization server.

        A new page is registered anew, unless the user has an app of their own there.
        """
        grant, (client_id, secret) = self._grant, self._client
        if self._page is not None and client_id:
            return OAuthClientInformationFull.model_validate(
                {
                    "client_id": client_id,
                    "client_secret": secret or None,
                    "redirect_uris": [self._page.uri],
                    "token_endpoint_auth_method": "client_secret_post" if secret else "none",
                }
            )
        if self._page is not None or not grant.client_id:
            return None
        return OAuthClientInformationFull(
            client_id=grant.client_id,
            client_secret=grant.client_secret or None,
            token_endpoint_auth_method=grant.auth_method or None,
            issuer=grant.issuer or None,
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """It is kept with the tokens."""

    async def _initialize(self) -> None:
        # The SDK keeps neither when tokens end nor where they are refreshed.
        await super()._initialize()
        grant, context = self._grant, self.context
        if context.current_tokens is None:
            return
        context.token_expiry_time = grant.expires_at or None
        if grant.token_endpoint:
            context.oauth_metadata = OAuthMetadata.model_validate(
                {
                    "issuer": grant.issuer,
                    "authorization_endpoint": grant.authorization_endpoint,
                    "token_endpoint": grant.token_endpoint,
                }
            )
        if grant.resource:
            servers = [grant.issuer or grant.url]
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
                {
                    "resource": grant.resource,
                    "authorization_servers": servers,
                }
            )

    # -- asking the user -----------------------------------------------------------------------

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        metadata, client = self.context.client_metadata, self.context.client_info
        if client is not None and client.client_id == self._client[0] and client.client_secret:
            client.token_endpoint_auth_method = self._secret_method()
        metadata.scope = union_scopes(metadata.scope, self._grant.wanted_scope or None)
        return await super()._perform_authorization_code_grant()

    def _secret_method(self) -> Literal["client_secret_basic", "client_secret_post"]:
        """Return how the server takes a secret; where it does not say, as it has to."""
        told = self.context.oauth_metadata
        known = told.token_endpoint_auth_methods_supported if told is not None else None
        if not known or "client_secret_basic" in known:
            return "client_secret_basic"
        return "client_secret_post"

    async def _ask(self, address: str) -> None:
        if self._page is None:
            raise SignInNeeded(_SIGN_IN)
        await self._addresses.check(httpx2.URL(address))
        self._page.expect(parse_qs(urlsplit(address).query)["state"][-1])
        self._send(SignInAsked(self._id, address))

    async def _answer(self) -> AuthorizationCodeResult:
        if self._page is None:
            raise SignInNeeded(_SIGN_IN)
        return await self._page.answer()

    # -- requests ------------------------------------------------------------------------------

    def _add_auth_header(self, request: httpx2.Request) -> None:
        if self._addresses.is_server(request.url):
            super()._add_auth_header(request)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Go through the SDK's flow; its own requests are checked, their answers bounded."""
        try:
            flow = self._bounded_flow(request)
            outgoing = await anext(flow)
            try:
                while True:
                    outgoing = await flow.asend((yield outgoing))
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()
        except SignInNeeded as error:
            self._refused(str(error))
            raise
        except (OAuthFlowError, httpx2.HTTPError, ValueError) as error:
            if self._page is not None:
                is_ours = isinstance(error, OAuthRegistrationError)
                self._refused(_NO_REGISTRATION if is_ours else str(error))
            raise

    async def _bounded_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super().async_auth_flow(request)
        has_refreshed = False
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is not request:
                    await self._addresses.check(outgoing.url)
                    bound_request(outgoing)
                response = yield outgoing
                if outgoing is not request:
                    bound_answer(response)
                elif _refuses(response):
                    bound_answer(response)
                    if self._may_refresh(response) and not has_refreshed:
                        has_refreshed = True
                        await flow.aclose()
                        flow = super().async_auth_flow(request)
                        outgoing = await anext(flow)
                        continue
                    self._need(response)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _may_refresh(self, response: httpx2.Response) -> bool:
        """Whether a token that is refused before its time can be had anew without the user."""
        if response.status_code != 401 or not self.context.can_refresh_token():
            return False
        self.context.token_expiry_time = 1.0
        return True

    def _need(self, response: httpx2.Response) -> None:
        """Raise SignInNeeded unless the user is signing in just now."""
        if self._page is not None and not self._page.is_used:
            return
        if response.status_code == 401:
            raise SignInNeeded(_SIGN_IN)
        wanted = union_scopes(self._grant.scope, extract_scope_from_www_auth(response))
        self._grant = msgspec.structs.replace(self._grant, wanted_scope=wanted or "")
        self._send(GrantKept(self._id, self._grant))
        raise SignInNeeded(_MORE)


def _refuses(response: httpx2.Response) -> bool:
    """Whether a server wants a sign-in, or one that allows more."""
    if response.status_code != 403:
        return response.status_code == 401
    return extract_field_from_www_auth(response, "error") == "insufficient_scope"
