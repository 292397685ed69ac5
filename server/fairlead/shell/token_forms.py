"""The forms of tokens and keys, by which they are recognized under any name.

Providers document the beginnings of their tokens, so that scanners find them (docs/secrets.md).
"""

import re

# the beginnings of tokens: of models, Git hosts, packages, clouds, payments, messages and other services
_BEGINNINGS = """
    sk- csk- nvapi- pplx- xai- gsk_ r8_ hf_ ABSK fw_ tgp_v1_ pcsk_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat-
    gloas- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glwt- glsoat- glffct- GR1348941 ATATT3 ATCTT3 ATBB
    sgp_ slk_ npm_ pypi- rubygems_ cio dckr_pat_ dckr_oat_ CLOJARS_ oy2 AKCp8 cmVmdGtuO AKIA ASIA ABIA ACCA LTAI5
    bedrock-api-key- sha256~ dt0c01. tk-us- fm1_ AIza ya29. GOCSPX- 1//0 dop_v1_ doo_v1_ dor_v1_ dapi HRKU- hvs.
    hvb. hvr. pul- dp.pt. dp.st. dp.sa. dp.ct. pscale_tkn_ pscale_pw_ pscale_oauth_ sbp_ sb_secret_ tskey- nfp_
    FlyV1 fm2_ fo1_ rnd_ ops_eyJ sk_live_ sk_test_ sk_prod_ rk_prod_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_
    sq0atp- sq0csp- sq0idp- EAAA EZAK EZTK FLWSECK- FLWSECK_TEST- shippo_live_ shippo_test_ shpat_ shpca_ shppa_
    shpss_ xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- SG. xkeysib- xsmtpsib- CFPAT- lin_api_ lin_oauth_
    ntn_ figd_ PMAK- NRAK- NRJS- NRII- glc_ glsa_ sntrys_ sntryu_ squ_ sqp_ sqa_ bkua_ CCIPAT_ CCIPRJ_ pat-na1-
    pat-eu1- tfp_ pnu_ duffel_live_ duffel_test_ aio_ rdme_ waka_ dnkey- fio-u- p8e- api_org_ sm_aat_ sm_pat_
    sm_sat_ AGE-SECRET-KEY-1
"""
_ANY_BEGINNING = "|".join(map(re.escape, _BEGINNINGS.split()))
_FORM = re.compile(
    # with a digit, which is missing in words such as `hf_home_directory`; all repetitions have limits, so that no text
    # takes long
    rf"(?<![A-Za-z0-9])(?:{_ANY_BEGINNING})(?=[\w.-]{{0,40}}\d)[\w.-]{{16}}|"
    # a JSON web token, a private key, the tokens of Mailgun, Twilio, Telegram, Discord, Terraform, Notion and Azure
    r"\beyJ[\w-]{8,400}\.|-----BEGIN |\bkey-[0-9a-f]{32}\b|\bSK[0-9a-f]{32}\b|\b[0-9]{8,10}:AA[\w-]{33}|"
    r"\b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}|\.atlasv1\.|\bsecret_[A-Za-z0-9]{43}\b|"
    r"\b\w{3}\dQ~[\w.~-]{31}|"
    # addresses that are tokens
    r"hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/"
)
# letters and digits that look random
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9]{32,}|(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+=-]{24,}")


def contains_token(text: str) -> bool:
    """Whether a text contains a token or a private key of a known form."""
    return _FORM.search(text) is not None


def without_tokens(text: str) -> str:
    """A text without the beginnings of the tokens in it, which are the parts that are certainly theirs."""
    return re.sub(rf"(?:{_FORM.pattern})[\w.-]*", "hidden", text)


def looks_random(value: str) -> bool:
    """Whether a value as a whole looks like a random key."""
    return _RANDOM.fullmatch(value) is not None
