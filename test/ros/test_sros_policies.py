"""The SROS 2 policies in config/ allow what the nodes open: no less, or they fail, and no more."""
from pathlib import Path
import re
from xml.etree import ElementTree

import pytest
from sros_policies import FOLDER, NODES, observed, settled

# Children and attributes of each element: the schema of sros2, policy.xsd, version 0.2.0.
SCHEMA = {
    'policy': ({'enclaves'}, {'version'}),
    'enclaves': ({'enclave'}, set()),
    'enclave': ({'profiles'}, {'path'}),
    'profiles': ({'profile'}, set()),
    'profile': ({'topics', 'services', 'actions'}, {'ns', 'node'}),
    'topics': ({'topic'}, {'publish', 'subscribe'}),
    'services': ({'service'}, {'reply', 'request'}),
    'actions': ({'action'}, {'execute', 'call'}),
    'topic': (set(), set()),
    'service': (set(), set()),
    'action': (set(), set()),
}
OF_NODES = ('/clock', '/parameter_events', '/rosout')


def policy(file):
    return ElementTree.parse(FOLDER / f'{file}.policy.xml').getroot()


def names(root, rule):
    """Return the names that a rule allows, those of the node itself as others write them."""
    return {
        re.sub('^~', profile.get('node'), entry.text)
        for profile in root.iter('profile') for group in profile
        if group.get(rule) == 'ALLOW' for entry in group}


@pytest.mark.live
@pytest.mark.parametrize('file', NODES)
def test_a_policy_is_what_the_running_node_opens(ros_environment, file):
    with observed(file) as opened:
        found = settled(file, opened)
    assert found == (FOLDER / f'{file}.policy.xml').read_text('utf-8'), (
        'write it again: python tools/sros_policies.py')


@pytest.mark.parametrize('path', sorted(FOLDER.glob('*')), ids=lambda path: path.name)
def test_a_policy_is_one_for_sros2(path):
    root = ElementTree.parse(path).getroot()
    assert root.get('version') == '0.2.0'
    for element in root.iter():
        children, attributes = SCHEMA[element.tag]
        assert {child.tag for child in element} <= children
        assert set(element.attrib) <= attributes
        if element.tag in ('topics', 'services', 'actions'):
            assert set(element.attrib.values()) == {'ALLOW'}
        if not children:
            assert re.fullmatch(r'(/|~/)?[a-z_]+(/[a-z_]+)*', element.text)
        else:
            assert len(element)


def test_clients_are_allowed_what_the_node_has_and_inputs_one_by_one():
    node, clients = policy('feedforward'), policy('clients')
    for rule, answer in (
            ('publish', 'subscribe'), ('request', 'reply'), ('call', 'execute')):
        assert names(clients, rule) <= names(node, answer) | set(OF_NODES)
    known = names(node, 'publish') | names(policy('driver'), 'publish')
    assert names(clients, 'subscribe') <= known | set(OF_NODES)
    for topic in ('joint_trajectory', 'reference', 'external_wrench'):
        owners = [
            enclave.get('path') for enclave in clients.iter('enclave')
            if f'feedforward/{topic}' in names(enclave, 'publish')]
        assert len(owners) == 1


def test_the_page_tells_of_each_enclave_and_input():
    page = Path(FOLDER.parents[1] / 'docs' / 'security.md').read_text('utf-8')
    for file in ('feedforward', 'driver', 'clients'):
        assert f'{file}.policy.xml' in page
        for enclave in policy(file).iter('enclave'):
            assert enclave.get('path') in page
    for name in names(policy('feedforward'), 'subscribe') - set(OF_NODES):
        assert f'`{name.replace("feedforward/", "~/")}`' in page
